"""The linkage audit, all rows at once: a record that is behind one row is behind no other."""

from typing import Any

import numpy as np

from app.methods.linkage.spec import JointMatching
from workers.algorithms.uncertain.linkage import joint
from workers.algorithms.uncertain.linkage.attack import Linkage
from workers.algorithms.uncertain.linkage.joint import Matched
from workers.methods.context import JobContext
from workers.methods.linkage.knowledge import Attacked, Knowledge


def matched(job: JobContext, release: Attacked, knowledge: Knowledge, linkage: Linkage) -> dict[str, Any]:
    """What the best candidates of rows state, row by row and of all rows at once.

    Parameters
    ----------
    job : hears of the progress.
    release, knowledge : the attacked data, and by whom.
    linkage : the attack by fit, for the rows that were tried.
    """
    state = joint.init(release.densities, knowledge.values, knowledge.of_row, linkage.rows)
    alone: Matched | None = None
    while not joint.done(state):
        job.tick(0.9 + 0.09 * joint.progress(state), "joint_attack")
        if alone is None and state.place == len(linkage.rows):
            alone = joint.alone(state)
        state = joint.step(state)
    return _best_fields(alone or joint.alone(state)) | {"joint": _joint(joint.result(state))}


def of_boxes(linkage: Linkage, *, original: bool) -> dict[str, Any]:
    """The same for boxes: all records in a box are equally probable, so that only one alone is above one half.

    Parameters
    ----------
    linkage : the attack.
    original : whether the adversary knows the original: who is alone in a box is then the right one.
    """
    above = float(np.mean(linkage.posterior > 0.5))
    return {"share_posterior_above_half": above, "precision_above_half": 1.0 if above and original else None}


def _best_fields(matching: Matched) -> dict[str, Any]:
    return {"share_posterior_above_half": matching.share_above_half, "precision_above_half": matching.share_right}


def _joint(matching: Matched) -> JointMatching:
    return JointMatching(
        mean_posterior=matching.mean_posterior, share_rank_1=matching.share_first, **_best_fields(matching)
    )
