"""Statistics as they are reported: one entry for each that was requested, or for each value where none was named."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import isfinite
from typing import Any

from app.contracts.statistics import WITH_SAMPLE_FORM, RegressionTerm, Statistic, StatisticKind
from app.methods.boxes.result import BoxStatistic, CoreStatistic, RestrictedStatistic
from surebox_core.intervals import Interval
from surebox_verify.bases import said_of
from surebox_verify.estimates import Estimate, reason_of
from surebox_verify.questions import terms
from surebox_verify.reasons import NO_RECORD
from surebox_verify.released.orders import LABELLED, called, labels
from workers.algorithms.boxes.state import Certificate
from workers.methods.boxes.columns import Shown

#: What a release states about a statistic; everything else is restricted to the job's owner.
PUBLIC = tuple(BoxStatistic.model_fields)


def statistics(shown: Shown, certificates: Sequence[Certificate]) -> Iterator[RestrictedStatistic]:
    """The statement about each statistic.

    Parameters
    ----------
    shown
        The columns.
    certificates
        In the order of the specification's statistics.
    """
    for statistic, certificate in zip(shown.spec.statistics or (), certificates, strict=True):
        if statistic.kind is StatisticKind.REGRESSION:
            yield _entry(shown, statistic, certificate, slice(None), {"terms": _terms(shown, statistic)})
            continue
        if not certificate.published:
            yield _unanswered(statistic, marked=certificate.core is not None)
        for place, values in enumerate(_values(shown, statistic)):
            yield _entry(shown, statistic, certificate, place, values)


def public_statistics(whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The statistics without restricted data."""
    return [{name: one[name] for name in PUBLIC} for one in whole["statistics"]]


def _unanswered(statistic: Statistic, *, marked: bool) -> RestrictedStatistic:
    """The entry of a statistic about each value of a column without values."""
    none: dict[str, Any] = {
        **dict.fromkeys(("estimate", "first_order", "guaranteed", "attained", "gap", "domain_may_be_empty")),
        **dict.fromkeys(("sharp", "value_known"), False),
        "reason": NO_RECORD,
    }
    return RestrictedStatistic(
        kind=statistic.kind,
        of=statistic.of,
        weight=1.0 if statistic.weight is None else statistic.weight,
        ddof=None,
        **none,
        core=CoreStatistic(**none) if marked else None,
        true_value=None,
        shift=None,
    )


def _values(shown: Shown, statistic: Statistic) -> list[dict[str, Any]]:
    """What each number of a statistic is about."""
    if statistic.kind is StatisticKind.CROSSTAB:
        return [{"values": cell} for cell in product(*(_codebook(shown, name) for name in statistic.of))]
    if statistic.kind in (StatisticKind.SHARE, StatisticKind.DOMAIN_MEAN) and statistic.values is None:
        return [{"values": (value,)} for value in _codebook(shown, statistic.of[-1])]
    return [{"values": statistic.values, "p": statistic.p, "at": statistic.at}]


def _terms(shown: Shown, statistic: Statistic) -> tuple[RegressionTerm, ...] | None:
    """What the coefficients of a regression are of, where a predictor is nominal."""
    values = {name: _codebook(shown, name)[1:] for name in statistic.of[1:] if name in shown.nominal}
    return tuple(RegressionTerm(**each) for each in terms(statistic.of[1:], values)) if values else None


def _codebook(shown: Shown, name: str) -> list[Any]:
    """Names of a nominal or an ordinal column's values as JSON has them; days as text."""
    if name in shown.spec.ordinal:
        return list(shown.spec.ordinal[name])
    book = shown.books[name].named
    return [book.name_of(code) for code in range(len(book.values))]


def _entry(
    shown: Shown, statistic: Statistic, certificate: Certificate, place: int | slice, about: Mapping[str, Any]
) -> RestrictedStatistic:
    """An entry with the number at a place, or with a list of all of them."""

    def shape(values: Sequence[Any]) -> Any:
        return tuple(values[place]) if isinstance(place, slice) else values[place]

    said = _said(certificate.published, place, statistic.of)
    true_value = shape([_finite(value) for value in certificate.true_value])
    return RestrictedStatistic(
        kind=statistic.kind,
        of=statistic.of,
        **about,
        called=called(statistic.kind, statistic.of, shown.orders),
        labels=_labels(shown, statistic, said),
        weight=1.0 if statistic.weight is None else statistic.weight,
        ddof=shown.spec.ddof if statistic.kind in WITH_SAMPLE_FORM else None,
        **said,
        core=None if certificate.core is None else _core(shown, statistic, certificate.core, place),
        true_value=true_value,
        true_label=(_labels(shown, statistic, {"true_value": true_value}) or {}).get("true_value"),
        shift=shape([_finite(value) for value in certificate.shift]),
        delta_at_records=shape([_finite(value) for value in certificate.delta]),
    )


def _core(shown: Shown, statistic: Statistic, core: Sequence[Estimate], place: int | slice) -> CoreStatistic:
    said = _said(core, place, statistic.of)
    return CoreStatistic(**said, labels=_labels(shown, statistic, said))


def _labels(shown: Shown, statistic: Statistic, said: Mapping[str, Any]) -> dict[str, Any] | None:
    """A quantile of an order as the values that it is."""
    numbers = {name: said[name] for name in (*LABELLED, "true_value") if name in said}
    return labels(statistic.kind, statistic.of, shown.orders, numbers)


def _said(published: Sequence[Estimate], place: int | slice, of: Sequence[str]) -> dict[str, Any]:
    """Estimate and ranges of the number at a place, or lists of all; names of its columns are for the reason."""
    these = published[place] if isinstance(place, slice) else (published[place],)
    gaps = [one.gap for one in these]

    def shape(values: Sequence[Any]) -> Any:
        return tuple(values) if isinstance(place, slice) else values[0]

    return {
        "estimate": shape([_finite(one.estimate) for one in these]),
        "first_order": shape([_pair(one.linear) for one in these]),
        "guaranteed": shape([_pair(one.guaranteed) for one in these]),
        "attained": shape([_pair(one.inner) for one in these]),
        "sharp": all(one.exact for one in these),
        "gap": None if None in gaps else max(gap for gap in gaps if gap is not None),
        "domain_may_be_empty": None if isinstance(place, slice) else these[0].domain_may_be_empty,
        "value_known": all(one.is_known for one in these),
        "reason": reason_of(these, of) or _too_large(these),
        **said_of(these[0].base if these else None),
    }


def _too_large(these: Sequence[Estimate]) -> str | None:
    """Why a number is missing whose range is there."""
    ends = [one.guaranteed for one in these]
    numbers = [end for each in ends if each is not None for end in (each.lower, each.upper)]
    numbers += [one.estimate for one in these if one.estimate is not None]
    return None if all(map(isfinite, numbers)) else "its numbers are too large to be written"


def _finite(value: float | None) -> float | None:
    """A number; none where magnitudes were too large for it to be computed."""
    return value if value is not None and isfinite(value) else None


def _pair(interval: Interval | None) -> tuple[float, float] | None:
    if interval is None or not (isfinite(interval.lower) and isfinite(interval.upper)):
        return None
    return interval.lower, interval.upper
