"""Runner of the audit `composition`: releases and the original in, what they tell together out."""

from dataclasses import replace

import numpy as np

from app.contracts.inputs import listed
from app.methods.composition.spec import CompositionSpec
from workers.algorithms.tables.composition import Composed, CompositionRequest, Noise, Placed, compose
from workers.algorithms.tables.locating import rehearse
from workers.methods.composition.placing import earlier, ledger, tables, terms
from workers.methods.composition.report import Together, result
from workers.methods.composition.versions import Chain, chains
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.earlier import OPAQUE
from workers.methods.released.family import Family, Left


class CompositionRunner:
    """Composes releases."""

    def warm(self) -> None:
        """Compose a few made-up records."""
        x, rng = np.arange(40.0)[:, None], np.random.default_rng(0)
        compose(CompositionRequest([Placed(rehearse())], 2.0, noise=[Noise(x, np.ones_like(x))]), rng=rng)

    def run(self, job: JobContext) -> Outcome:
        """Place all persons, compose and report; there is no release.

        Raises
        ------
        InvalidError
            What only the records could tell.
        """
        job.tick(0.0, "read")
        spec = job.specification(CompositionSpec)
        releases = listed(job.releases, "release_ids")
        job.tick(0.1, "places")
        versions = chains(
            releases, {role: ledger(job, role) for role, one in releases.items() if one.method == "boxes"}
        )
        single = {role for chain in versions for role in chain.roles[:-1]}
        roles = [role for role in releases if role not in single]
        family = Family(
            job.dataset_path(), {"k": spec.k_required, "sensitive": spec.sensitive}, None, earlier(job, spec, roles),
            terms(job, spec), more=tables(job, spec), continued={releases[chain.roles[-1]].id for chain in versions},
        )  # fmt: skip
        job.tick(0.7, "composition")
        left = _composed(job, spec, family)
        alone = len(versions) == 1 and set(versions[0].roles) == set(releases) and not spec.dataset_ids
        composed = _with_versions(
            left.left, versions, alone=alone, promised=None if spec.person_column is None else spec.k_required
        )
        together = Together(
            releases=len(spec.release_ids) + len(spec.dataset_ids),
            has_boxes=bool(spec.dataset_ids) or any(one.method == "boxes" for one in releases.values()),
            is_open=any(one.method in OPAQUE for one in releases.values()),
            unplaced=0 if alone else left.unplaced, new=left.new, left=left.gone, versions=alone,
        )  # fmt: skip
        made = result(spec, composed, together, sensitive=family.sensitive).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _composed(job: JobContext, spec: CompositionSpec, family: Family) -> Left:
    if family.releases:
        return family.composed(job.rng)
    nothing = CompositionRequest([Placed(np.zeros(family.rows, dtype=np.int64))], float(spec.k_required or 1.0))
    return Left(compose(nothing, rng=job.rng), 0, 0, 0)  # only rows that are the original's


def _with_versions(composed: Composed, versions: list[Chain], *, alone: bool, promised: float | None) -> Composed:
    """What is left with new versions of data among the releases, by what each of these and two of them show."""
    smallest = min((chain.smallest for chain in versions), default=composed.overlay)
    moved = [chain.changed for chain in versions if chain.changed is not None]
    if promised is not None and versions:  # rows do not say of how many more persons they are
        smallest, moved = min(smallest, int(promised)), [min(one, int(promised)) for one in moved]
    changed = min([*moved, *([] if composed.changed is None or alone else [composed.changed])], default=None)
    if alone:
        return replace(composed, overlay=smallest, overlay_below=0.0, changed=changed)
    return replace(composed, overlay=min(composed.overlay, smallest), changed=changed)
