"""What becomes of each published statistic when it is computed again.

A range is `verified` where the one that is computed again lies within the published one, up to 4 units in the last
place; `consistent` where it contains what data consistent with the boxes reach (`inner`); else `contradicted`. A mean
within values has no range where no box can hold a record with them: `certainly empty`. If such records
are said to exist for certain and the boxes do not make it so, or the reverse, that is `contradicted` too.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from surebox_verify.questions import name_of

_UNITS: Final = 4
_ANY: Final = (-math.inf, math.inf)
#: The column of a marked release that says which rows are of the core, and the part of a statistic that is about these.
CORE: Final = "core"
_OF_ALL: Final = ("estimate", "linear", "guaranteed", "inner", "exact", "gap", "domain_may_be_empty")


class Finding(StrEnum):
    """What became of one published statistic."""

    VERIFIED = "verified"
    CONSISTENT = "consistent"
    CONTRADICTED = "contradicted"
    EMPTY = "certainly empty"
    NOTHING_CLAIMED = "no range claimed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class StatisticFinding:
    """One published statistic, by the name that `surebox-certify` takes, and its range as it was computed again.

    Attributes
    ----------
    domain_may_be_empty : of a mean within values, whether data consistent with the file have no record with them, as it
        was computed again; None of other statistics, and where nothing was.
    """

    name: str
    kind: str
    of: tuple[str, ...]
    finding: Finding
    published: Any
    recomputed: Any
    domain_may_be_empty: bool | None = None


def judged(published: Mapping[str, Any], again: Mapping[str, Any] | None) -> StatisticFinding:
    """One statistic.

    Parameters
    ----------
    published : as the certificate has it; from before they had it, without `domain_may_be_empty`.
    again : as it was computed again; None where it was not.
    """
    again_range = None if again is None else again["guaranteed"]
    return StatisticFinding(
        name=f"{name_of(published)}, core" if published.get(CORE) is True else name_of(published),
        kind=str(published.get("kind")),
        of=tuple(str(column) for column in published.get("of") or ()),
        finding=_wrong_of_the_domain(published, again) or _finding(published, again),
        published=published.get("guaranteed"),
        recomputed=again_range,
        domain_may_be_empty=None if again is None else again["domain_may_be_empty"],
    )


def about_core(published: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What is published of a statistic of the core, as if it stood alone; None where nothing is.

    Parameters
    ----------
    published : as the certificate has it; of a release with `rare_records: mark` it has a part `core`.
    """
    core = published.get(CORE)
    if not isinstance(core, Mapping):
        return None
    own = {name: value for name, value in published.items() if name not in _OF_ALL}
    return {**own, **core, CORE: True}


def problem(published: Mapping[str, Any], found: StatisticFinding) -> str:
    """What is published of a contradicted statistic, and what is the case."""
    if found.domain_may_be_empty is True and published.get("domain_may_be_empty") is False:
        case = "no record with the values" if found.recomputed is None else "a mean of perhaps no record"
        return f"a mean of some record for certain published, {case}"
    if found.published is None:
        return f"no record with the values published, {found.recomputed}"
    return f"{found.published} published, {found.recomputed}"


def _wrong_of_the_domain(published: Mapping[str, Any], again: Mapping[str, Any] | None) -> Finding | None:
    """What is wrong about whether there is a record with the values: said certain and it is not, or said none."""
    said = published.get("domain_may_be_empty")
    if said is None or again is None or again["domain_may_be_empty"] is None:
        return None
    none_said = said and published.get("guaranteed") is None
    too_much = (again["domain_may_be_empty"] and not said) or (none_said and again["guaranteed"] is not None)
    return Finding.CONTRADICTED if too_much else None


def _finding(published: Mapping[str, Any], again: Mapping[str, Any] | None) -> Finding:
    if published.get("guaranteed") is None:
        empty = again is not None and again["domain_may_be_empty"] and again["guaranteed"] is None
        return Finding.EMPTY if empty else Finding.NOTHING_CLAIMED
    if again is None:
        return Finding.NOT_CHECKED
    several = published.get("kind") == "regression"

    def parts(value: Any) -> list[Any]:
        return list(value or []) if several else [value]

    triples = _aligned(parts(published["guaranteed"]), parts(again["guaranteed"]), parts(published.get("inner")))
    found = [_compared(*each) for each in triples]
    return max(found, key=[Finding.NOTHING_CLAIMED, Finding.VERIFIED, Finding.CONSISTENT, Finding.CONTRADICTED].index)


def _aligned(first: list[Any], *others: list[Any]) -> list[tuple[Any, ...]]:
    filled = [other if len(other) == len(first) else [None] * len(first) for other in others]
    return list(zip(first, *filled, strict=True))


def _compared(published: Any, recomputed: Any, inner: Any) -> Finding:
    """One range against the one that is computed again."""
    if published is None:
        return Finding.NOTHING_CLAIMED
    lower, upper = recomputed or _ANY
    low, high = (float(end) for end in published)
    if lower >= low - _UNITS * math.ulp(low) and upper <= high + _UNITS * math.ulp(high):
        return Finding.VERIFIED
    if inner is not None:
        least, most = (float(end) for end in inner)
        if lower <= least + _UNITS * math.ulp(least) and upper >= most - _UNITS * math.ulp(most):
            return Finding.CONSISTENT
    return Finding.CONTRADICTED
