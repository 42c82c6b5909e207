"""Runner of the audit `composition`: releases and the original in, what they tell together out."""

import numpy as np

from app.contracts.attacks import CompositionSpec
from app.contracts.inputs import listed
from workers.algorithms.tables.composition import CompositionRequest, Noise, Placed, compose
from workers.algorithms.tables.locating import rehearse
from workers.frames.codes import coded_columns
from workers.methods.composition.placing import noise, placed, sources
from workers.methods.composition.report import result
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.earlier import OPAQUE


class CompositionRunner:
    """Composes releases."""

    def warm(self) -> None:
        """Compose a few made-up records."""
        x, rng = np.arange(40.0)[:, None], np.random.default_rng(0)
        compose(CompositionRequest([Placed(rehearse())], 2.0, noise=[Noise(x, np.ones_like(x))]), rng=rng)

    def run(self, job: JobContext) -> Outcome:
        """Place the records, compose and report; there is no release.

        Raises
        ------
        InvalidError
            What only the records could tell.
        """
        job.tick(0.0, "read")
        spec = job.specification(CompositionSpec)
        request = _request(job, spec)
        job.tick(0.7, "composition")
        has_boxes = bool(request.releases)
        if not request.releases and not request.noise:  # only rows that are the original's
            request = CompositionRequest([Placed(np.zeros(job.datasets["dataset_id"].rows, dtype=np.int64))], request.k)
        made = result(
            spec,
            compose(request, rng=job.rng),
            releases=len(spec.release_ids) + len(spec.dataset_ids),
            has_boxes=has_boxes,
            is_open=any(one.method in OPAQUE for one in listed(job.releases, "release_ids").values()),
        ).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _request(job: JobContext, spec: CompositionSpec) -> CompositionRequest:
    """What is composed."""
    path = job.dataset_path()
    return CompositionRequest(
        releases=placed(job, sources(job, spec.columns)),
        k=float(spec.k or 1.0),
        persons=None if spec.person is None else coded_columns(path, [spec.person])[0].codes.astype(np.int64),
        sensitive=[one.codes.astype(np.int64) for one in coded_columns(path, spec.sensitive)],
        noise=noise(job),
    )
