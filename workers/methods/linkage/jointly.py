"""The linkage audit, all rows at once: a record that is behind one row is behind no other."""

from typing import Any

import numpy as np

from app.contracts.linkage import Joint
from workers.algorithms.uncertain.linkage import joint
from workers.algorithms.uncertain.linkage.attack import Linkage
from workers.algorithms.uncertain.linkage.joint import Matched
from workers.methods.context import JobContext
from workers.methods.linkage.knowledge import Attacked, Knowledge


def matched(job: JobContext, release: Attacked, knowledge: Knowledge, found: Linkage) -> dict[str, Any]:
    """What the best candidates of rows say, row by row and of all rows at once.

    Parameters
    ----------
    job : hears of the progress.
    release, knowledge : what is attacked, and by whom.
    found : the attack by fit, for the rows that were tried.
    """
    state = joint.init(release.densities, knowledge.values, knowledge.of_row, found.rows)
    alone: Matched | None = None
    while not joint.done(state):
        job.tick(0.9 + 0.09 * joint.progress(state), "joint attack")
        if alone is None and state.place == len(found.rows):
            alone = joint.alone(state)
        state = joint.step(state)
    return _told(alone or joint.alone(state)) | {"joint": _joint(joint.result(state))}


def of_boxes(found: Linkage, *, original: bool) -> dict[str, Any]:
    """The same for boxes: all records in a box are equally probable, so that only one alone is above one half.

    Parameters
    ----------
    found : the attack.
    original : whether the adversary knows the original: who is alone in a box is then the right one.
    """
    above = float(np.mean(found.posterior > 0.5))
    return {"share_posterior_above_half": above, "share_of_these_right": 1.0 if above and original else None}


def _told(found: Matched) -> dict[str, Any]:
    return {"share_posterior_above_half": found.share_above_half, "share_of_these_right": found.share_right}


def _joint(found: Matched) -> Joint:
    return Joint(mean_posterior=found.mean_posterior, share_rank_1=found.share_first, **_told(found))
