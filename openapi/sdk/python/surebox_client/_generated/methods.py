"""Without `await`: written by `make sdk`, never edited."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from surebox_client.handles import Handle, inputs

if TYPE_CHECKING:
    from surebox_client._generated import types

J = TypeVar("J")


class Methods(Generic[J]):
    """What a client has for each method, which makes a job."""

    def _job(self, path: str, method: str, about: Mapping[str, Any], options: Mapping[str, Any]) -> J:
        raise NotImplementedError

    def boxes(
        self, about: "Handle[types.Dataset] | str", /, **options: "Unpack[types.BoxesOptions]"
    ) -> J:
        """k-anonymity, l-diversity and t-closeness by boxes that keep chosen statistics narrow."""
        return self._job("/v1/anonymizations", "boxes", inputs(about, one=True), options)

    def uncertain(
        self, about: "Handle[types.Dataset] | str", /, **options: "Unpack[types.UncertainOptions]"
    ) -> J:
        """Uncertain k-anonymity: noise just large enough that k records fit, published with its size."""
        return self._job("/v1/anonymizations", "uncertain", inputs(about, one=True), options)

    def condensation(
        self, about: "Handle[types.Dataset] | str", /, **options: "Unpack[types.CondensationOptions]"
    ) -> J:
        """Condensation (Aggarwal and Yu 2004): pseudo-records drawn with the mean and covariance of groups."""
        return self._job("/v1/anonymizations", "condensation", inputs(about, one=True), options)

    def swaps(
        self, about: "Handle[types.Dataset] | str", /, **options: "Unpack[types.SwapsOptions]"
    ) -> J:
        """Masks a group's outlier regions: the fewest, least noticeable exchanges of regions between records."""
        return self._job("/v1/anonymizations", "swaps", inputs(about, one=True), options)

    def group(
        self, auxiliary: "Handle[types.Dataset] | str", target: "Handle[types.Dataset] | str | None" = None, /, **options: "Unpack[types.GroupOptions]"
    ) -> J:
        """The attack on a group's anonymity: learn rules from one microfile, find outlier regions in another."""
        return self._job("/v1/audits", "group", {"auxiliary_dataset_id": auxiliary, "target_dataset_id": target}, options)

    def group_profile(
        self, *about: "Handle[types.Dataset] | Handle[types.Release] | str", **options: "Unpack[types.GroupProfileOptions]"
    ) -> J:
        """What the rules see of regions below, at and above their alpha."""
        return self._job("/v1/audits", "group_profile", inputs(*about), options)

    def swap_detection(
        self, *about: "Handle[types.Dataset] | Handle[types.Release] | str", **options: "Unpack[types.SwapDetectionOptions]"
    ) -> J:
        """What classifiers trained on the auxiliary data see of regions."""
        return self._job("/v1/audits", "swap_detection", inputs(*about), options)

    def linkage(
        self, about: "Handle[types.Release] | str", /, **options: "Unpack[types.LinkageOptions]"
    ) -> J:
        """The linkage attack on one release, or on several of the same original jointly."""
        return self._job("/v1/audits", "linkage", inputs(about, one=True), options)

    def table(
        self, about: "Handle[types.Dataset] | Handle[types.Release] | str", /, **options: "Unpack[types.TableOptions]"
    ) -> J:
        """The measures of the field on a dataset or a release."""
        return self._job("/v1/audits", "table", inputs(about, one=True), options)

    def composition(
        self, *about: "Handle[types.Dataset] | Handle[types.Release] | str", **options: "Unpack[types.CompositionOptions]"
    ) -> J:
        """Audit of the facts that several releases of the same data reveal together."""
        return self._job("/v1/audits", "composition", inputs(*about), options)

    def determination(
        self, *about: "Handle[types.Release] | str", **options: "Unpack[types.DeterminationOptions]"
    ) -> J:
        """Which values a release gives away although it names no person."""
        return self._job("/v1/audits", "determination", inputs(*about), options)

    def influence(
        self, *about: "Handle[types.Release] | str", **options: "Unpack[types.InfluenceOptions]"
    ) -> J:
        """What single records decide of a release: the job again without each of them, and with it moved."""
        return self._job("/v1/audits", "influence", inputs(*about), options)

    def frontier(
        self, about: "Handle[types.Dataset] | str", /, **options: "Unpack[types.FrontierOptions]"
    ) -> J:
        """Audit of the cost of each k: boxes for each k, nothing published."""
        return self._job("/v1/audits", "frontier", inputs(about, one=True), options)
