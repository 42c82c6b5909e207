"""The statistics of a release as rows and pictures: certain ranges, what of them is reached, estimates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from surebox_core.intervals import Interval as Ends
from surebox_verify.bases import counted_in_words
from surebox_verify.estimates import is_one_value
from surebox_verify.released.naming import in_words
from workers.methods.report.facts import JsonObject
from workers.methods.report.page import Cell, Figure, Section, Table
from workers.methods.report.pictures import Interval, intervals

#: Rows of one picture: more are not read.
_DRAWN: Final = 30
#: Units from the origin beyond which nothing is drawn: the axis would show one point.
_FARTHEST: Final = 1e12
#: Kinds that have one scale for all: what the scale counts.
_COMMON: Final[Mapping[str, str]] = {
    "correlation": "correlation, from -1 to 1",
    "share": "share, from 0 to 1, of the records that the table names",
}
_PHRASES: Final[Mapping[str, str]] = {
    "mean": "mean of {0}",
    "variance": "variance of {0}",
    "standard_deviation": "standard deviation of {0}",
    "covariance": "covariance of {0} and {1}",
    "correlation": "correlation of {0} and {1}",
    "share": "share of {0} = {values}",
    "crosstab": "{what} with {0} and {1} = {values}",
    "domain_mean": "mean of {0} where {1} = {values}",
    "quantile": "quantile {p} of {0}",
    "prediction": "prediction of {0} at {values}",
}
_IF_ANY: Final = "if there is one"
_NO_RECORD: Final = "of no record"


def named(statistic: JsonObject, part: int | None = None) -> str:
    """A statistic in words; of a regression one of its coefficients, of a mean of perhaps no one that it is that."""
    of = list(map(str, statistic["of"]))
    if statistic["kind"] == "regression":
        term = (statistic.get("terms") or [{"column": name} for name in [None, *of[1:]]])[part or 0]
        about = "" if term.get("value") is None else f" = {in_words(term['value'])}"
        what = "intercept" if not part else f"coefficient of {term['column']}{about}"
        return f"{statistic.get('called') or 'regression'} of {of[0]} on {', '.join(of[1:])}: {what}"
    pattern = _PHRASES.get(str(statistic["kind"]))
    if pattern is None or pattern.count("{") > len(of) + 3:
        return f"{statistic['kind']} of {', '.join(of)}"
    values = _about(statistic)
    what = "sum of weights of records" if str(statistic.get("base")).startswith("weighted") else "records"
    text = pattern.format(*of, values=values, p=statistic.get("p"), what=what)
    if statistic.get("called") is not None and statistic["kind"] != "quantile":  # of ranks; a quantile is a value
        text = str(statistic["called"]) + text[text.index(f" of {of[0]}") :]
    if not statistic.get("domain_may_be_empty"):
        return text
    return f"{text}, {_NO_RECORD if statistic.get('guaranteed') is None else _IF_ANY}"


def _about(statistic: JsonObject) -> str:
    """The values that a statistic is about, or the interval."""
    if statistic.get("at") is not None:
        pairs = zip(statistic["of"][1:], statistic["at"], strict=False)
        return ", ".join(f"{name} = {in_words(at)}" for name, at in pairs)
    if (interval := statistic.get("interval")) is None:
        return ", ".join(map(in_words, statistic.get("values") or ()))
    low, high = interval
    return f"{low} or more" if high is None else f"{high} or less" if low is None else f"{low} to {high}"


def single(statistics: Sequence[JsonObject]) -> Iterator[dict[str, Any]]:
    """One number each: regressions and cross-tables fall into their parts."""
    for one in statistics:
        if one.get("kind") == "scaling_unit":
            continue
        if one["kind"] == "regression":
            yield from (_part(one, index) for index in range(len(one.get("terms") or one["of"])))
        elif _is_range(one.get("guaranteed")) or not isinstance(one.get("estimate"), (list, tuple)):
            yield {**one, "name": named(one)}
        # a cross-table is in the statistics' own document: it has a row and a column a value


def _is_range(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(end, (int, float)) for end in value)


def _part(one: JsonObject, index: int) -> dict[str, Any]:
    def at(field: str) -> Any:
        return None if one.get(field) is None else one[field][index]

    fields = ("estimate", "first_order", "guaranteed", "attained", "true_value", "shift")
    part = {**one, **{field: at(field) for field in fields}, "name": named(one, index)}
    is_there = part["guaranteed"] is not None and part["estimate"] is not None
    return part | {"reason": None if is_there else one.get("reason")}


def certain(statistics: Sequence[JsonObject], *, restricted: bool) -> Section:
    """Ranges that are certain to contain the released records' values; `restricted` adds the true values."""
    rows = [one for one in single(statistics) if "guaranteed" in one]
    if not rows:
        return Section("Certain ranges")
    sentences = [
        (
            "Each range below is guaranteed to contain the statistic of the released records, whatever values they "
            "have within the published boxes. Its ends are not estimated, and they are rounded outward."
        ),
        "In the pictures a thick bar is the guaranteed range and a thin one the part that data reach; a diamond is "
        "the estimate" + ("; a cross is the true value, which only this restricted page shows." if restricted else "."),
    ]
    head: tuple[str, ...] = (
        "Statistic", "Of", "From", "To", "Estimate", "Value is known", "Narrowest range", "Note",
    )  # fmt: skip
    if restricted:
        head += ("True value", "Moved by what was left out")
    sentences.append(
        '"Of" names the released records that a statistic counts: all of them, or those with a value in each of its '
        "columns. Their number counts each once, also where the statistic counts them by their weights."
    )
    sentences.append(
        '"Value is known" states that a range is one value: you know the statistic. "Narrowest range" '
        "(`sharp` in the files) states that no narrower range follows from the release, for some data within the boxes "
        "reach both ends. It does not state that the value is known: such a range may be wide."
    )
    if any(one["guaranteed"] is None for one in rows):
        sentences.append("A dash in place of a range: nothing is certain of the statistic. The note states why.")
    if any(one.get("domain_may_be_empty") for one in rows):
        sentences.append(
            f'A mean "{_IF_ANY}" is within values that perhaps no record has, as far as the release shows: its range '
            f'is about the mean of those that have. A mean "{_NO_RECORD}" is within values that no record can have.'
        )
    return Section(
        "Certain ranges",
        sentences=tuple(sentences),
        figures=tuple(_figures(rows)),
        tables=(Table("Certain ranges", head, tuple(_row(one, restricted=restricted) for one in rows)),),
    )


def _row(one: JsonObject, *, restricted: bool) -> tuple[Cell, ...]:
    low, high = one["guaranteed"] or (None, None)
    ends = None if one["guaranteed"] is None else Ends(*map(float, one["guaranteed"]))
    known = ends is not None and is_one_value(ends)
    labels = one.get("labels") or {}
    low, high = labels.get("guaranteed") or (low, high)
    estimate, true_value = labels.get("estimate", one.get("estimate")), one.get("true_value")
    row: tuple[Cell, ...] = (one["name"], _of(one), low, high, estimate, known, bool(one.get("sharp")))
    row = (*row, one.get("reason") or "")
    if not restricted:
        return row
    label = one.get("true_label")
    return (*row, true_value if label is None else label, one.get("shift"))


def _of(one: JsonObject) -> str:
    """Released records that a statistic counts."""
    return counted_in_words(one.get("base"), one.get("n"))


def _figures(rows: Sequence[JsonObject]) -> Iterator[Figure]:
    drawn = [one for one in rows if one["guaranteed"] is not None]
    for kind, axis in _COMMON.items():
        same = [one for one in drawn if one["kind"] == kind]
        if same:
            yield _drawn(same, [(0.0, 1.0)] * len(same), kind=f"{kind}s", axis=axis)
    other = [one for one in drawn if one["kind"] not in _COMMON and one.get("estimate")]
    scaled = [(one, (float(one["estimate"]), abs(float(one["estimate"])) / 100.0)) for one in other]
    scaled = [(one, scale) for one, scale in scaled if scale[1] > 0.0 and _is_drawable(_interval(one, *scale))]
    if scaled:
        other, scales = [one for one, _ in scaled], [scale for _, scale in scaled]
        yield _drawn(other, scales, kind="other statistics", axis="difference from the estimate, in % of it")


def _drawn(rows: Sequence[JsonObject], scales: Sequence[tuple[float, float]], *, kind: str, axis: str) -> Figure:
    """The first thirty; each is drawn at (value - origin) / unit."""
    shown = [_interval(one, *scale) for one, scale in zip(rows[:_DRAWN], scales[:_DRAWN], strict=True)]
    widest = max(shown, key=lambda one: one.certain[1] - one.certain[0])
    left_out = f" The first {_DRAWN} of {len(rows)} are drawn." if len(rows) > _DRAWN else ""
    description = (
        f"Certain ranges of {len(shown)} {kind}. The widest is that of the {widest.name}, from {widest.certain[0]:.4g} "
        f"to {widest.certain[1]:.4g} on this axis.{left_out} All numbers are in the table."
    )
    return intervals(shown, title=f"Certain ranges: {kind}", description=description, axis=axis)


def _interval(one: JsonObject, origin: float, unit: float) -> Interval:
    def placed(value: Any) -> float:
        return (float(value) - origin) / unit

    attained = one.get("attained")
    return Interval(
        name=one["name"],
        certain=(placed(one["guaranteed"][0]), placed(one["guaranteed"][1])),
        reached=None if attained is None else (placed(attained[0]), placed(attained[1])),
        estimate=None if one.get("estimate") is None else placed(one["estimate"]),
        truth=None if one.get("true_value") is None else placed(one["true_value"]),
    )


def _is_drawable(one: Interval) -> bool:
    """Return whether no mark of an interval is so far away that the others would be one point."""
    marks = (*one.certain, *(one.reached or ()), one.estimate or 0.0, one.truth or 0.0)
    return all(abs(mark) <= _FARTHEST for mark in marks)


def estimated(statistics: Sequence[JsonObject]) -> Section:
    """Unbiased estimates with their errors, of releases that give no certain range."""
    rows = [one for one in single(statistics) if "standard_error" in one and "guaranteed" not in one]
    if not rows:
        return Section("Estimates")
    sentence = (
        "This method blurs every record, so that no range is certain. Each estimate is unbiased; its standard error "
        "states how far the released records' own value may be."
    )
    table = tuple((one["name"], _of(one), one.get("estimate"), one.get("standard_error")) for one in rows)
    return Section(
        "Estimates",
        sentences=(sentence,),
        tables=(Table("Estimates", ("Statistic", "Of", "Estimate", "Standard error"), table),),
    )
