"""What the specification of `linkage`, the release and the adversary's dataset decide before a job is accepted."""

from collections.abc import Iterator, Mapping
from typing import Final

from app.contracts import linkable
from app.contracts.datasets import Profile
from app.contracts.inputs import ReleaseInput, listed
from app.contracts.linkage import LinkageSpec
from app.errors import FieldError
from app.jobs.columns import named, wrong_column, wrong_numbers
from app.jobs.inputs import Given

#: What several releases that are attacked together may be.
_JOINTLY: Final = ("boxes", "uncertain")


def fill(spec: LinkageSpec, given: Given) -> LinkageSpec:
    """The specification with the adversary's knowledge: by default the original, which is needed beside any other."""
    if spec.release_ids:
        first = given.releases["release_ids/0"].dataset_id
        return spec.model_copy(update={"dataset_id": spec.dataset_id or first})
    release = given.releases["release_id"]
    known = spec.dataset_id or release.dataset_id
    apart = known != release.dataset_id and release.method != "boxes"
    return spec.model_copy(
        update={"dataset_id": known, "original_id": spec.original_id or (release.dataset_id if apart else None)}
    )


def check(spec: LinkageSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this release and this dataset, each with its pointer."""
    if spec.release_ids:
        return list(_several(spec, listed(given.releases, "release_ids")))
    release = given.releases["release_id"]
    if (unfit := linkable.unfit(release) or linkable.unfit_alone(release)) is not None:
        return [FieldError("/release_id", unfit)]
    wrong = []
    if spec.original_id not in {None, release.dataset_id}:
        wrong.append(FieldError("/original_id", f"the original of this release is {release.dataset_id}"))
    return [*wrong, *_columns(release, given.profile())]


def _several(spec: LinkageSpec, releases: Mapping[str, ReleaseInput]) -> Iterator[FieldError]:
    """What is wrong with releases that are to be attacked jointly."""
    original = next(iter(releases.values())).dataset_id
    for role, one in releases.items():
        if one.method not in _JOINTLY:
            yield FieldError(f"/{role}", f"{' and '.join(_JOINTLY)} are attacked jointly, not {one.method}")
        elif (unfit := linkable.unfit(one)) is not None:
            yield FieldError(f"/{role}", unfit)
        elif one.dataset_id != original:
            yield FieldError(
                f"/{role}", f"releases of one original are attacked jointly; the first one's is {original}"
            )
    for name in ("dataset_id", "original_id"):
        if getattr(spec, name) not in {None, original}:
            yield FieldError(f"/{name}", f"several releases are attacked by who knows their original, {original}")


def _columns(release: ReleaseInput, profile: Profile) -> Iterator[FieldError]:
    columns = named(profile)
    for name in release.spec["columns"]:
        if (wrong := wrong_column(name, columns, numeric=True)) is not None:
            yield FieldError("/dataset_id", f"{wrong}, which the release is about")
        elif name in profile.numeric:
            yield from wrong_numbers("/dataset_id", columns[name], profile.numeric[name])
        if name in columns and columns[name].missing >= profile.rows:
            yield FieldError("/dataset_id", f"column {name!r} has no values")
