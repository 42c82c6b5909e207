"""What the linkage audit states: ranks by fit alone and with scales matched, requirements, and a sentence."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.contracts.gate import LinkageDemands
from app.methods.linkage.spec import JointMatching, LinkageAttack, LinkageRanks, LinkageResult
from workers.algorithms.uncertain.linkage.attack import Linkage
from workers.algorithms.uncertain.linkage.summary import summary

_PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
MEANING: Final = {
    "mean_rank": "So many known records fit a row at least as well as its true one, on average: 1 names everyone.",
    "share_rank_1": "Rows whose true record fits better than every other one: the best guess is right.",
    "share_below_k": "Rows that fewer than k known records fit as well as the true one.",
    "mean_posterior": "The probability that the adversary gives the true record, on average.",
    "share_posterior_above_half": "Rows that the attacker would claim to have re-identified.",
    "precision_above_half": "How often they are right with these rows.",
    "adversary_knows_90_percent": "The same for an adversary who knows nine of ten records.",
    "after_scale_matching": "They also compute the scale of each record again, and compare it with the published one.",
    "demands": "Where you require nothing, the mean rank is to be k for someone who knows the original, less what "
    "chance explains: four standard errors.",
    "joint": "They also use that a record is behind one row only.",
}
_WIDER: Final = "a larger `k`, coarser columns or fewer kept ones leave more candidates"
#: Demand, whether figures are to be at least the limit, and the statement about them.
_SAID: Final = (
    ("mean_rank", True, "is the mean rank of the true record"),
    ("share_rank_1", False, "of the rows are fitted best by their true record"),
    ("share_below_k", False, "of the rows are fitted by fewer than k records as well as by their true one"),
    ("mean_posterior", False, "is the mean probability of the true record"),
    ("share_posterior_above_half", False, "of the rows have a record that is more probable than not"),
)
#: A demand by name, with the measurement, and the finding if it is not met.
Judged = tuple[str, MeasuredDemand, Finding]
#: Ranks of a release that keeps what it promises are k on average; so many standard errors below are no chance.
_CHANCE: Final = 4.0


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
    require : the demands on it.
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


def judged(
    made: LinkageResult, require: LinkageDemands | None, promised: float | None, attacks: Mapping[str, Linkage]
) -> dict[str, Any]:
    """The fields of the result that judge it.

    Parameters
    ----------
    made
        Its figures.
    require
        The demands on them.
    promised
        The mean rank to be expected where nothing is demanded; None: they do not know the original.
    attacks
        The attacks.
    """
    judged_by = _broken(made, promised, attacks) if require is None else _missed(made, require)
    demands, said = {}, []
    for name, demand, finding in judged_by:
        demands[name] = demand
        said.append(finding)
    findings = tuple(finding for finding, demand in zip(said, demands.values(), strict=True) if not demand.met)
    return {
        "passed": all_met(demands),
        "demands": demands,
        "findings": findings,
        "verdict": _verdict(made, passed=not findings),
        "meaning": MEANING,
    }


def _attacks(made: LinkageResult) -> tuple[LinkageRanks | JointMatching, ...]:
    """Those of who knows all that there is to know."""
    return tuple(one for one in (made, made.after_scale_matching, made.joint) if one is not None)


def _worst(made: LinkageResult, name: str, *, least: bool) -> float | None:
    """A figure of the strongest attack that has it."""
    figures = [figure for one in _attacks(made) if (figure := getattr(one, name, None)) is not None]
    return (min if least else max)(figures, default=None)


def _missed(made: LinkageResult, require: LinkageDemands) -> Iterator[Judged]:
    for name, least, what in _SAID:
        limit = getattr(require, name)
        if limit is None:
            continue
        figure = _worst(made, name, least=least)
        met = figure is not None and (figure >= limit - 1e-9 if least else figure <= limit + 1e-9)
        yield name, MeasuredDemand(required=limit, measured=figure, met=met), _finding(figure, limit, what)


def _broken(made: LinkageResult, promised: float | None, attacks: Mapping[str, Linkage]) -> Iterator[Judged]:
    """Whether an attack finds a mean rank below k that chance does not explain."""
    if promised is None:
        return
    ranks = [
        (float(one.rank.mean()), float(_CHANCE * one.rank.std() / np.sqrt(len(one.rank))))
        for name, one in attacks.items()
        if not name.endswith("_90")
    ]
    mean, chance = min(ranks, key=sum)
    name, least, what = _SAID[0]
    demand = MeasuredDemand(required=promised - chance, measured=mean, met=mean + chance >= promised)
    yield name, demand, _finding(_worst(made, name, least=least), promised, what)


def _finding(figure: float | None, limit: float, what: str) -> Finding:
    shown = "an unknown number" if figure is None else f"{figure:.4g}"
    detail = f"{shown} {what}, {limit:.4g} is the limit; {_WIDER}"
    return Finding(audit="linkage", severity=FindingSeverity.HIGH, detail=detail, measured=figure, required=limit)


def _verdict(made: LinkageResult, *, passed: bool) -> str:
    rank, first = (_worst(made, name, least=least) for name, least, _ in _SAID[:2])
    sentence = (
        f"An attacker who knows the records finds the true one of a row at rank {rank:.4g} on average, and first for "
        f"{first:.1%} of the rows"
    )
    return f"{sentence}.{'' if passed else ' A requirement is not met.'}"
