"""What becomes of each published statistic when it is computed again.

A range is `verified` where the one that is computed again is within the published one, up to rounding: 4 units in the
last place of its larger end, or 2^-44 of its width. It is `consistent` where it is narrower than that, but contains
what data consistent with the boxes reach (`attained`, as it is computed again): another version of the search may have
found it, or it is a wrong claim. Where the range computed again is exact there is no such doubt. Else it is
`contradicted`, and so is a statistic whose estimate, first-order range, `attained`, `gap`, `sharp` or `value_known`
does not follow, nor what it is called where it is of ranks, nor the values that a quantile is.
A mean within values has no range where no box can contain a record with them: `certainly empty`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surebox_core.intervals import Interval
from surebox_verify.estimates import is_one_value
from surebox_verify.questions import name_of
from surebox_verify.ranges.guaranteed import combine
from surebox_verify.report import Finding, StatisticFinding

_UNITS: Final = 4
_WIDTH: Final = 2.0**-44
_NEAR: Final = 2.0**-30  # of the size of the compared amounts: sums in another order
_GAP: Final = 1e-6
_EXACT: Final = 1e-9
#: The column of a marked release that states which rows are of the core, and the part of a statistic that is about
#: these.
CORE: Final = "core"
_OF_ALL: Final = (
    "estimate", "first_order", "guaranteed", "attained", "sharp", "gap", "domain_may_be_empty", "value_known", "reason",
    "labels", "base", "n",
)  # fmt: skip


def judged(
    published: Mapping[str, Any], again: Mapping[str, Any] | None, unattained: Mapping[str, Any] | None = None
) -> StatisticFinding:
    """One statistic.

    Parameters
    ----------
    published : as the certificate has it; of an older version without some of its parts.
    again : as it was computed again; None where it was not.
    unattained : the same where nothing is taken for granted that the file cannot show: whether bounds are attained.
        None for `again`.
    """
    verdict, reason = _verdict(published, again, unattained or again)
    return StatisticFinding(
        name=f"{name_of(published)}, core" if published.get(CORE) is True else name_of(published),
        kind=str(published.get("kind")),
        of=tuple(str(column) for column in published.get("of") or ()),
        finding=verdict,
        published=published.get("guaranteed"),
        recomputed=None if again is None else again["guaranteed"],
        domain_may_be_empty=None if again is None else again["domain_may_be_empty"],
        reason=reason,
        base=published.get("base") if again is None else again.get("base"),
        n=published.get("n") if again is None else again.get("n"),
    )


def about_core(published: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The published part of a statistic of the core, as if it stood alone; None where nothing is.

    Parameters
    ----------
    published : as the certificate has it; of a release with `rare_records: mark` it has a part `core`.
    """
    core = published.get(CORE)
    if not isinstance(core, Mapping):
        return None
    own = {name: value for name, value in published.items() if name not in _OF_ALL}
    return {**own, **core, CORE: True}


@dataclass(frozen=True)
class _Part:
    """One number of a statistic, as it was published or computed again; None where unknown."""

    estimate: float | None
    linear: Interval | None
    guaranteed: Interval | None
    inner: Interval | None
    exact: bool | None


def _verdict(
    published: Mapping[str, Any], again: Mapping[str, Any] | None, unattained: Mapping[str, Any] | None
) -> tuple[Finding, str | None]:
    """What became of a statistic, and why."""
    if again is None or unattained is None:
        nothing = published.get("guaranteed") is None
        return (Finding.NOTHING_CLAIMED, None) if nothing else (Finding.NOT_CHECKED, None)
    parts, others, without = _parts(published), _parts(again), _parts(unattained)
    if published.get("kind") == "regression" and not any(map(_is_claim, parts)):
        # Coefficients without a number may be of values that only suppressed records had.
        reason = _wrong_gap(published, parts) or _wrong_words(published, parts)
        return (Finding.NOTHING_CLAIMED, None) if reason is None else (Finding.CONTRADICTED, reason)
    wrong = _wrong_of_the_domain(published, again) or _wrong_terms(published, again) or _wrong_unit(published, again)
    if (reason := wrong or _wrong_base(published, again)) is not None:
        return Finding.CONTRADICTED, reason
    if len(parts) != len(others):
        return Finding.CONTRADICTED, f"{len(parts)} numbers published, {len(others)} follow"
    verdicts = [_compared(*each) for each in zip(parts, others, without, strict=True)]
    worst = max(verdicts, key=lambda each: _ORDER.index(each[0]))
    reason = _wrong_gap(published, parts) or _wrong_words(published, parts)
    if worst[0] is not Finding.CONTRADICTED and reason is not None:
        return Finding.CONTRADICTED, reason
    if worst[0] is Finding.NOTHING_CLAIMED and again["domain_may_be_empty"] and again["guaranteed"] is None:
        return Finding.EMPTY, None
    return worst


_ORDER: Final = [Finding.NOTHING_CLAIMED, Finding.VERIFIED, Finding.CONSISTENT, Finding.CONTRADICTED]


def _wrong_of_the_domain(published: Mapping[str, Any], again: Mapping[str, Any]) -> str | None:
    """The faults of whether there is a record with the values."""
    said, case = published.get("domain_may_be_empty"), again["domain_may_be_empty"]
    if said is None or case is None:
        return None
    if case and not said:
        what = "no record with the values" if again["guaranteed"] is None else "a mean of perhaps no record"
        return f"a mean of some record for certain published, {what}"
    if said and published.get("guaranteed") is None and again["guaranteed"] is not None:
        return f"no record with the values published, {again['guaranteed']}"
    return "perhaps no record with the values published, some record for certain" if said and not case else None


def _wrong_terms(published: Mapping[str, Any], again: Mapping[str, Any]) -> str | None:
    """Coefficients that are said to be of something else."""
    said, case = published.get("terms"), again.get("terms")
    if said is None or case is None or list(said) == list(case):
        return None
    return "coefficients of other values published"


def _wrong_unit(published: Mapping[str, Any], again: Mapping[str, Any]) -> str | None:
    """Ranks that are not called ranks, or numbers that are, and values that a quantile is not."""
    said, case = published.get("called"), again.get("called")
    if said != case:
        return f"called {said or 'as its kind'} published, {case or 'its kind'}"
    said, case = published.get("labels"), again.get("labels")
    if not isinstance(said, Mapping) or not isinstance(case, Mapping):
        return None if said is case else f"values {said} of a quantile published, {case}"
    ends = [name for name in case if name != "attained" or said.get(name) is not None]
    differing = next((name for name in ends if said.get(name) != case[name]), None)
    return None if differing is None else f"{differing} {said.get(differing)} published as values, {case[differing]}"


def _wrong_base(published: Mapping[str, Any], again: Mapping[str, Any]) -> str | None:
    """Records that are said to be counted and are not."""
    for name in ("base", "n"):
        said, case = published.get(name), again.get(name)
        if said is not None and case is not None and said != case:
            return f"{name}: {said} published, {case}"
    return None


def _wrong_gap(published: Mapping[str, Any], parts: Sequence[_Part]) -> str | None:
    """Whether `gap` and `sharp` follow from the ranges of the same statistic."""
    gaps = [combine(each.guaranteed, each.inner).gap for each in parts]
    gap, exact = published.get("gap"), published.get("sharp")
    case = None if None in gaps else max(each for each in gaps if each is not None)
    if gap is not None and (case is None or not abs(float(gap) - case) <= _GAP):
        return f"a gap of {gap} published, {case}"
    is_exact = gap is not None and float(gap) < _EXACT
    if exact is not None and gap is not None and bool(exact) != is_exact:
        return f"sharp: {exact} published, its own gap states {is_exact}"
    return f"sharp: {exact} published, without what reaches it," if exact and gap is None else None


def _wrong_words(published: Mapping[str, Any], parts: Sequence[_Part]) -> str | None:
    """The statement about ranges that does not follow from them: that they are one value, or why there is none."""
    known, case = published.get("value_known"), all(each.guaranteed and is_one_value(each.guaranteed) for each in parts)
    if known is not None and bool(known) is not case:
        return f"value_known: {known} published, its own range states {case}"
    lacking = any(each.guaranteed is None or each.estimate is None for each in parts)
    if published.get("reason") is not None and not lacking:
        return "a reason published why there is no range, and all is there"
    return None


def _parts(statistic: Mapping[str, Any]) -> list[_Part]:
    """The numbers of a statistic: of a regression its coefficients."""
    several = statistic.get("kind") == "regression"
    values = [statistic.get(name) for name in ("estimate", "first_order", "guaranteed", "attained")]
    lists = [list(each or []) if several else [each] for each in values]
    length = max(len(each) for each in lists)
    filled = [[*each, *[None] * (length - len(each))] for each in lists]
    exact = statistic.get("sharp")
    return [
        _Part(None if e is None else float(e), _interval(one), _interval(g), _interval(i), exact)
        for e, one, g, i in zip(*filled, strict=True)
    ]


def _is_claim(part: _Part) -> bool:
    return any(each is not None for each in (part.estimate, part.linear, part.guaranteed, part.inner))


def _interval(pair: Any) -> Interval | None:
    return None if pair is None else Interval(float(pair[0]), float(pair[1]))


def _compared(published: _Part, again: _Part, unattained: _Part) -> tuple[Finding, str | None]:
    """One number and the statement about  against the number computed again."""
    if (reason := _wrong_estimate(published, again)) is not None:
        return Finding.CONTRADICTED, reason
    if published.guaranteed is None:
        doubt = _doubtful_inner(published, again)
        return Finding.NOTHING_CLAIMED if doubt is None else Finding.CONSISTENT, doubt
    outer, certain = published.guaranteed, again.guaranteed or Interval(-math.inf, math.inf)
    reason = f"{_text(outer)} published, {_text(again.guaranteed)}"
    play = _rounding(certain)
    if not outer.lower <= outer.upper or (published.inner is not None and not _holds(outer, published.inner, play)):
        return (
            Finding.CONTRADICTED,
            f"{_text(outer)} published, which its own {_text(published.inner)} is not within; {_text(certain)}",
        )
    is_verified = _holds(outer, certain, play)
    reached = again.inner if is_verified else unattained.inner
    if not is_verified and (again.exact or (reached is not None and not _holds(outer, reached, play))):
        return Finding.CONTRADICTED, reason
    if (doubt := _doubtful_inner(published, again)) is not None:
        return (Finding.CONTRADICTED if again.exact else Finding.CONSISTENT), doubt
    return (Finding.VERIFIED, None) if is_verified else (Finding.CONSISTENT, reason)


def _wrong_estimate(published: _Part, again: _Part) -> str | None:
    """An estimate or a first-order range that is not the one that follows."""
    if published.estimate is not None and not _is_near(published.estimate, again.estimate, again):
        return f"an estimate of {published.estimate} published, {again.estimate}"
    if published.linear is None:
        return None
    case = again.linear
    if (
        case is not None
        and _is_near(published.linear.lower, case.lower, again)
        and _is_near(published.linear.upper, case.upper, again)
    ):
        return None
    return f"a first-order range of {_text(published.linear)} published, {_text(case)}"


def _doubtful_inner(published: _Part, again: _Part) -> str | None:
    """A range stated as reached that is not known to be, or not as much as is known."""
    if published.inner is None:
        return None
    size = _size(again)
    if again.inner is None or not _holds(again.inner, published.inner, _NEAR * size):
        return f"{_text(published.inner)} published as reached, {_text(again.inner)}"
    short = again.exact and published.exact is False
    return f"{_text(published.inner)} published as reached, and no more; {_text(again.inner)}" if short else None


def _rounding(interval: Interval) -> float:
    """How far two computations of one range may differ: nothing of a range that is 0."""
    largest = max(abs(interval.lower), abs(interval.upper))
    if not 0.0 < largest < math.inf:
        return 0.0
    return max(_UNITS * math.ulp(largest), _WIDTH * (interval.upper - interval.lower))


def _holds(outer: Interval, inner: Interval, play: float) -> bool:
    return outer.lower - play <= inner.lower and inner.upper <= outer.upper + play


def _is_near(published: float, again: float | None, part: _Part) -> bool:
    return again is not None and abs(published - again) <= _NEAR * _size(part)


def _size(part: _Part) -> float:
    """The largest of the numbers that a part is about."""
    ends = [end for each in (part.linear, part.guaranteed) if each is not None for end in (each.lower, each.upper)]
    return max([abs(each) for each in ends if math.isfinite(each)], default=0.0)


def _text(interval: Interval | None) -> str:
    return "nothing" if interval is None else f"[{interval.lower}, {interval.upper}]"
