"""Statistics of a release as a table, for who analyses it: a row for each number, with the range that is certain."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from surebox_core.errors import UndefinedStatisticError
from surebox_verify.certify import bounded_columns, certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.files import rows
from surebox_verify.released.naming import in_words

#: Columns of texts, also where all are missing.
_TEXTS: Final = ("statistic", "kind", "columns", "about", "base", "reason")
_NUMBERS: Final = ("estimate", "guaranteed", "attained")
_ENDS: Final = ("lower", "upper", "attained_lower", "attained_upper")
#: Why a release with weights has no count.
_WEIGHTED: Final = (
    "the rows have weights, so that no number of records follows from a share: ask for `share`, or for a cell of "
    "`crosstab`, which is a sum of weights"
)


def estimated(data: bytes, form: str, certificate: bytes, statistics: Sequence[str] | None, ddof: int) -> pa.Table:
    """A table with a row for each number: its estimate, and the range that is certain to hold the released records'.

    Parameters
    ----------
    data, form : the bytes of a file of the release, and its format.
    certificate : of the release.
    statistics : such as ``mean(wage)``, ``count(job)``; None: the mean and the median, or the shares and counts, of
        each column.
    ddof : 1 for the sample form of variances, standard deviations and covariances.

    Raises
    ------
    UnreadableError
        The release or a statistic cannot be read here.
    """
    table = rows(data, form, None)
    wanted = [*(_all(table, bounded_columns(table.column_names)) if statistics is None else statistics)]
    shares = [f"share{each.strip().removeprefix('count')}" if _is_count(each) else each for each in wanted]
    computed = []
    for wording, each in zip(wanted, shares, strict=True):
        try:
            computed.append(certify(table, [each], ddof=ddof, certificate=certificate))
        except UndefinedStatisticError as error:
            raise UnreadableError(f"{wording}: {error.reason}") from None
    listed = [row for one, entries in zip(wanted, computed, strict=True) for row in _rows(one, entries)]
    names = {name: pa.string() if name in _TEXTS else None for row in listed for name in row}
    return pa.table({name: pa.array([row[name] for row in listed], kind) for name, kind in names.items()})


def _is_count(statistic: str) -> bool:
    return statistic.strip().startswith("count(")


def _all(table: Any, columns: Sequence[str]) -> Iterator[str]:
    """Means and medians of columns of numbers and days, shares and counts of all others."""
    for name in columns:
        quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        bound = table.schema.field(f"{name}_lo").type if f"{name}_lo" in table.column_names else None
        numeric = bound is not None and "string" not in str(bound)
        yield from (
            (f"mean({quoted})", f"quantile({quoted}, 0.5)") if numeric else (f"share({quoted})", f"count({quoted})")
        )


def _rows(statistic: str, entries: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A statistic's numbers, with what each is about."""
    for entry in entries:
        terms = entry.get("terms") or [{"column": name, "value": None} for name in (None, *entry["of"][1:])]
        several = entry["kind"] == "regression"
        for place in range(len(entry["estimate"]) if several else 1):
            one = {name: entry[name][place] if several else entry[name] for name in _NUMBERS}
            row = {
                "statistic": statistic,
                "kind": entry["kind"],
                "columns": ", ".join(entry["of"]),
                "about": _about(entry, terms[place] if several else None),
                "estimate": one["estimate"],
                **dict(zip(("lower", "upper"), one["guaranteed"] or (None, None), strict=True)),
                **dict(zip(("attained_lower", "attained_upper"), one["attained"] or (None, None), strict=True)),
                "sharp": entry["sharp"],
                "base": entry["base"],
                "n": entry["n"],
                "reason": entry["reason"],
            }
            yield _counted(row) if _is_count(statistic) else row


def _about(entry: Mapping[str, Any], term: Mapping[str, Any] | None) -> str | None:
    """The values, the interval or the coefficient that a number is about."""
    if term is not None:
        name = term["column"] or "intercept"
        return name if term["value"] is None else f"{name}={in_words(term['value'])}"
    if entry.get("interval") is not None:
        return "..".join("" if end is None else str(end) for end in entry["interval"])
    values = entry.get("values")
    return None if values is None else " | ".join("(missing)" if each is None else in_words(each) for each in values)


def _counted(row: dict[str, Any]) -> dict[str, Any]:
    """Shares as numbers of records, which are whole; a share of weights is none of records."""
    records = row["n"] or 0
    if str(row["base"]).startswith("weighted"):
        return {**row, "kind": "count", **dict.fromkeys(_ENDS), "estimate": None, "sharp": False, "reason": _WEIGHTED}
    within = {"lower": math.ceil, "attained_upper": math.floor, "upper": math.floor, "attained_lower": math.ceil}
    whole = {
        name: None if row[name] is None else to(row[name] * records + (1e-6 if to is math.floor else -1e-6))
        for name, to in within.items()
    }
    estimate = None if row["estimate"] is None else row["estimate"] * records
    return {**row, **whole, "kind": "count", "estimate": estimate}
