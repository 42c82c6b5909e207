"""What the linkage audit says: ranks in numbers, by fit alone and with scales matched."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.gate import LinkageDemands
from app.methods.linkage.spec import LinkageAttack, LinkageRanks, LinkageResult
from workers.algorithms.uncertain.linkage.attack import Linkage
from workers.algorithms.uncertain.linkage.summary import summary
from workers.methods.linkage.findings import judged

_PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


def result(
    attacks: Mapping[str, Linkage],
    *,
    records: int,
    candidates: int,
    k: float | NDArray[np.float64],
    posterior: bool = True,
    best: Mapping[str, Any] | None = None,
    require: LinkageDemands | None = None,
    original: bool = False,
) -> dict[str, Any]:
    """The job's whole result.

    Parameters
    ----------
    attacks : attacks by name: `fit`, `fit_90`, `matched`, `matched_90`; all but the first may be missing.
    records, candidates : rows of the release; records that the adversary knows.
    k : of the release, or of each row.
    posterior : whether rows have densities, of which posteriors are made.
    best : fields of the result about the best candidate of each row.
    require : what is demanded of it.
    original : whether the adversary knows the original: then k is to be expected where nothing is demanded.
    """

    def ranks(name: str) -> LinkageRanks | None:
        return _ranks(attacks[name], k, posterior=posterior) if name in attacks else None

    matched = ranks("matched")
    made = LinkageResult(
        **_ranks(attacks["fit"], k, posterior=posterior).model_dump(),
        adversary_knows_90_percent=ranks("fit_90"),
        records=records,
        candidates=candidates,
        sampled=len(attacks["fit"].rows),
        k=None if isinstance(k, np.ndarray) else k,
        **(best or {}),
        passed=None,
        demands={},
        findings=(),
        verdict="",
        after_scale_matching=None
        if matched is None
        else LinkageAttack(**matched.model_dump(), adversary_knows_90_percent=ranks("matched_90")),
    )
    promised = float(np.mean(k)) if original else None
    return made.model_copy(update=judged(made, require, promised, attacks)).model_dump(mode="json")


def _ranks(linkage: Linkage, k: float | NDArray[np.float64], *, posterior: bool) -> LinkageRanks:
    made = summary(linkage, k, _PROBABILITIES)
    intervals = None
    if made.intervals is not None:
        shown = {str(name): ends for name, ends in made.intervals.items()}
        intervals = {name: ends for name, ends in shown.items() if posterior or name != "mean_posterior"}
    return LinkageRanks(
        mean_rank=made.mean_rank,
        rank_quantiles={str(p): value for p, value in made.quantiles.items()},
        share_rank_1=made.share_rank_1,
        share_below_k=made.share_below_k,
        mean_posterior=made.mean_posterior if posterior else None,
        intervals=intervals,
    )
