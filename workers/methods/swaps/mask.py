"""The task of `swaps`: which places are masked, how far, who may leave and where to, by which metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

import numpy as np

from app.errors import FieldError, InfeasibleError, InvalidError, pointer
from app.methods.group.spec import SignalKind
from app.methods.swaps.spec import RegionMask, SwapsSpec
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.signals.outliers import Outliers
from workers.algorithms.groups.swaps.levels import Levels
from workers.algorithms.groups.swaps.metric import Metric, encode
from workers.algorithms.groups.swaps.problem import Problem, build
from workers.algorithms.groups.swaps.restrictions import (
    NoPartnerError,
    NothingToMaskError,
    Restriction,
    UnreachableError,
)
from workers.methods.microfile.attack import Places, in_kind, stand_out
from workers.methods.microfile.microfile import Microfile

#: Least distance between a bound and where the search sees no merit any more (the paper's 2 and 12).
_SLACK: Final = 10


@dataclass(frozen=True, slots=True)
class Masking:
    """Bounds on the crisp auxiliary signal, or of its concentration, by places among the regions.

    Attributes
    ----------
    restrictions : one per masked place.
    sources, targets : places that members may leave and enter; None for the usual value.
    ceilings : place -> most that its signal may become.
    before : outliers of the signal as it is.
    hidden : those among them that must not stand out any more: all of them, or of a given list those that stand out.
    excluded : places that an expert does not count.
    """

    restrictions: tuple[Restriction, ...]
    sources: tuple[int, ...] | None
    targets: tuple[int, ...] | None
    ceilings: dict[int, int]
    before: Outliers
    hidden: frozenset[int]
    excluded: tuple[int, ...]


def masking_of(spec: SwapsSpec, crisp: IntArray, sizes: IntArray, places: Places) -> Masking:
    """The specification's mask, in places.

    Raises
    ------
    InfeasibleError
        A region that no in-range record has, or nothing stands out.
    """
    excluded = places.known(spec.outliers.ignore)
    kind = spec.signal or SignalKind.QUANTITY
    before = stand_out(in_kind(crisp, sizes, kind), spec.outliers, excluded)
    if spec.mask == "outliers":
        restrictions = _outliers(crisp, sizes if kind is SignalKind.CONCENTRATION else np.ones_like(sizes), before)
    else:
        indexes = places.required([one.region for one in spec.mask], "/mask", "/region")
        restrictions = tuple(
            _restriction(one, place, int(crisp[place])) for one, place in zip(spec.mask, indexes, strict=True)
        )
    masked = {one.element for one in restrictions}
    hidden = before.indexes if spec.mask == "outliers" else (place for place in before.indexes if place in masked)
    ceilings = places.required([one.region for one in spec.ceilings], "/ceilings", "/region")
    return Masking(
        restrictions,
        None if spec.sources is None else tuple(places.required(spec.sources, "/sources")),
        None if spec.targets is None else tuple(places.required(spec.targets, "/targets")),
        {place: one.at_most for place, one in zip(ceilings, spec.ceilings, strict=True)},
        before,
        frozenset(hidden),
        tuple(excluded),
    )


def _outliers(crisp: IntArray, sizes: IntArray, before: Outliers) -> tuple[Restriction, ...]:
    """High outliers down to the largest value that is none, low ones up to the smallest.

    A value is a number of members, sizes being 1, or a concentration; swaps leave the sizes as they are, so that a
    bound on it is one on the number: floor or ceil of value times size, in whole numbers.
    """
    usual = [Fraction(int(crisp[place]), int(sizes[place])) for place in set(range(len(crisp))) - set(before.order)]
    low, high = (min(usual), max(usual)) if usual else (Fraction(0), Fraction(0))
    restrictions = []
    for place in before.indexes:
        most, least, now = floor(high * int(sizes[place])), ceil(low * int(sizes[place])), int(crisp[place])
        if now > most:
            restrictions.append(_lowered(place, most, now))
        elif now < least:
            restrictions.append(_raised(place, least, now))
    if not restrictions:
        detail = "nothing to mask: no place stands out in the crisp auxiliary signal that is not excluded"
        raise InfeasibleError.at("/mask", detail)
    return tuple(restrictions)


def _restriction(mask: RegionMask, place: int, now: int) -> Restriction:
    if mask.at_most is not None:
        return _lowered(place, mask.at_most, now, mask.zero_at)
    return _raised(place, mask.at_least or 1, now, mask.zero_below)


def _lowered(place: int, bound: int, now: int, zero: int | None = None) -> Restriction:
    return Restriction(place, bound, max(now, bound + _SLACK) if zero is None else zero)


def _raised(place: int, bound: int, now: int, zero: int | None = None) -> Restriction:
    return Restriction(place, bound, min(now, bound - _SLACK) if zero is None else zero)


def metric_of(spec: SwapsSpec) -> Metric:
    """The weights, in the order of the specification's columns."""
    if spec.metric is None:
        msg = "the specification was not filled in"
        raise ValueError(msg)
    return Metric(tuple(spec.metric.ordinal.values()), tuple(spec.metric.categorical.values()))


def problem_of(
    spec: SwapsSpec,
    microfile: Microfile,
    values: FloatArray,
    member: BoolArray,
    masking: Masking,
    levels: Levels | None = None,
) -> Problem:
    """The problem of swapping, checked.

    Parameters
    ----------
    values
        Of `encoded`.
    levels
        Nested sets; None for the members alone.

    Raises
    ------
    InfeasibleError
        Nothing to mask, no one to swap with, or a bound that cannot be reached; states how far it can go.
    InvalidError
        Sources and targets that contradict the mask, or a column without an order.
    """
    try:
        return build(
            microfile.region,
            len(microfile.regions),
            member,
            values,
            metric_of(spec),
            masking.restrictions,
            sources=masking.sources,
            targets=masking.targets,
            levels=levels,
        )
    except NothingToMaskError:
        raise InfeasibleError.at("/mask", "nothing to mask: every masked place meets its bound as it is") from None
    except NoPartnerError as error:
        where = "/sources" if error.what == "members in the sources" else "/targets"
        raise InfeasibleError.at(where, f"no eligible partner: there are no {error.what}") from None
    except UnreachableError as error:
        raise unreachable(spec, masking.restrictions, error) from None
    except ValueError as error:
        raise InvalidError.at("/sources", str(error)) from None


def encoded(spec: SwapsSpec, microfile: Microfile) -> FloatArray:
    """The records as the metric takes them.

    Raises
    ------
    InvalidError
        An ordinal column with missing or infinite values.
    """
    missing = np.asarray(np.isnan(microfile.numbers).any(axis=0))
    gaps = missing | np.isinf(microfile.numbers).any(axis=0)
    if gaps.any():
        names = list(spec.metric.ordinal) if spec.metric is not None else []
        errors = [
            FieldError(
                pointer("metric", "ordinal", names[index]),
                f"column {names[index]!r} has {'missing' if missing[index] else 'infinite'} values in range: "
                "weigh it as categorical",
            )
            for index in np.flatnonzero(gaps)
        ]
        raise InvalidError("ordinal columns with missing or infinite values; see `errors`", errors=errors)
    return encode(metric_of(spec), microfile.numbers, microfile.categories)


def unreachable(spec: SwapsSpec, restrictions: Sequence[Restriction], error: UnreachableError) -> InfeasibleError:
    """How far it can go."""
    places = [one.element for one in restrictions]
    detail = f"{error.required} requested, {error.reachable} is as far as it can go: {error.reason}"
    if error.element is None or spec.mask == "outliers" or error.element not in places:
        return InfeasibleError.at("/mask", detail)
    return InfeasibleError.at(pointer("mask", places.index(error.element)), detail)
