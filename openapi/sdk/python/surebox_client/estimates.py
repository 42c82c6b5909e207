"""What follows from a release alone, by surebox-verify, which computes it here: ranges of statistics, and a verdict."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from surebox_client.errors import SureboxError

if TYPE_CHECKING:
    from surebox_verify.report import Report


_NUMBERS: Final = ("estimate", "guaranteed", "attained")


def estimates(data: bytes, form: str, certificate: bytes, statistics: Sequence[str] | None, ddof: int) -> Any:
    """A frame with a row for each number: its estimate, and the range that is certain to hold the released records'.

    Raises
    ------
    SureboxError
        The extra `verify` is not installed, or the release cannot be read here.
    """
    try:
        from surebox_core.errors import UndefinedStatisticError
        from surebox_verify.certify import bounded_columns, certify
        from surebox_verify.envelope import UnreadableError
        from surebox_verify.released.files import rows
    except ModuleNotFoundError as error:
        raise SureboxError("Ranges are computed by surebox-verify: pip install 'surebox-client[verify]'") from error
    try:
        table = rows(data, form, None)
        wanted = [*(_all(table, bounded_columns(table.column_names)) if statistics is None else statistics)]
        shares = [f"share{each.strip().removeprefix('count')}" if _is_count(each) else each for each in wanted]
        computed = [certify(table, [each], ddof=ddof, certificate=certificate) for each in shares]
    except UndefinedStatisticError as error:
        raise SureboxError(f"{wanted[error.index]}: {error.reason}") from None
    except UnreadableError as error:
        raise SureboxError(str(error)) from None
    return _frame(
        [row for one, entries in zip(wanted, computed, strict=True) for row in _rows(one, entries, len(table))]
    )


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


def _rows(statistic: str, entries: Sequence[Mapping[str, Any]], records: int) -> Iterator[dict[str, Any]]:
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
                "reason": entry["reason"],
            }
            yield _counted(row, records) if _is_count(statistic) else row


def _about(entry: Mapping[str, Any], term: Mapping[str, Any] | None) -> str | None:
    """The values, the interval or the coefficient that a number is about."""
    if term is not None:
        name = term["column"] or "intercept"
        return name if term["value"] is None else f"{name}={term['value']}"
    if entry.get("interval") is not None:
        return "..".join("" if end is None else str(end) for end in entry["interval"])
    values = entry.get("values")
    return None if values is None else " | ".join("(missing)" if each is None else str(each) for each in values)


def _counted(row: dict[str, Any], records: int) -> dict[str, Any]:
    """Shares as numbers of records, which are whole."""
    within = {"lower": math.ceil, "attained_upper": math.floor, "upper": math.floor, "attained_lower": math.ceil}
    whole = {
        name: None if row[name] is None else to(row[name] * records + (1e-6 if to is math.floor else -1e-6))
        for name, to in within.items()
    }
    estimate = None if row["estimate"] is None else row["estimate"] * records
    return {**row, **whole, "kind": "count", "estimate": estimate}


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A frame of polars, or where it is not installed of pandas, or else of pyarrow."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        import pyarrow as pa

        table = pa.Table.from_pylist([*rows])
        try:
            return table.to_pandas()
        except ImportError:
            return table
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"about": pl.String, "reason": pl.String})


def verified(bundle: Path, keys: bytes) -> "Report":
    """The verdict on the archive of a release."""
    try:
        from surebox_verify.bundle import ENVELOPE, REVOCATIONS, TIMESTAMP, unpacked
        from surebox_verify.keys import read_keys
        from surebox_verify.timestamps import Given
        from surebox_verify.verification import verify
    except ModuleNotFoundError as error:
        raise SureboxError("Releases are verified by surebox-verify: pip install 'surebox-client[verify]'") from error
    files = unpacked(bundle)
    envelope, revocations = files.pop(ENVELOPE), files.pop(REVOCATIONS, None)
    stamp = Given(files.pop(TIMESTAMP, None), None, required=False)
    return verify(files, envelope, read_keys(keys), revocations=revocations, timestamp=stamp)
