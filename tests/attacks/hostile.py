"""Tables whose values are called like classes, missing cells and merged values; their releases as readers have them."""

import datetime as dt
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from app.certificates.issue import statement
from app.contracts.releases import ReleaseFormat, ending_of
from app.db.repositories.releases import ReleaseRow
from surebox_verify.verification import Report, verify
from tests.attacks.certified import FORMATS, ISSUER, KEYS
from tests.methods.in_process import Done
from tests.verify.made import signed_statistics
from workers.frames.release import write_release
from workers.frames.rows import Taken

WORDS = ["a", "other", "other values", "*", "null", "NA", "", "a,b", 'c"d', "e;f", "E10", "E10.1", "20", "true", " é"]
DAYS = [dt.date(2024, 1, 31) + dt.timedelta(days=day) for day in range(6)]
VALUES: dict[str, Sequence[Any]] = {
    "text": WORDS,
    "whole": [20, 21, 22, -7, 2**52],
    "day": DAYS,
    "truth": [False, True],
}
CLASSES = [*WORDS, "E", "all", "20", "21", "2024-01-31", "true"]
#: What else is asked of a release; half of the time nothing.
MORE: list[dict[str, Any]] = [
    {}, {}, {}, {}, {}, {"rare_records": "suppress", "max_suppressed": 0.2}, {"rare_records": "weigh"},
    {"person_column": "person"}, {"survey_weight_column": "weight"}, {"keep": ["kept"], "k_counts_kept": True},
    {"keep": ["kept"], "sensitive": ["kept"], "l": 2}, {"box_means": "rounded"},
]  # fmt: skip
AT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def text(value: Any) -> str:
    """A value as a hierarchy has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Column:
    """The statements of a specification about a column, and its values."""

    values: Sequence[Any]
    declared: dict[str, Any]

    @property
    def rows(self) -> list[list[str]]:
        return list(self.declared.get("hierarchy", {}).get("rows", ()))

    @property
    def is_from_data(self) -> bool:
        return not self.rows and "values" not in self.declared and not isinstance(self.values[0], bool)

    @property
    def classes(self) -> list[str]:
        return sorted({label for row in self.rows for label in row[1:]})

    def has(self, name: Any, shown: Sequence[Any], cell: Any) -> bool:
        """Return whether a record with a cell has what is named; `shown` is what a codebook from the data lists."""
        kind, label = next(iter(name.items())) if isinstance(name, dict) else ("", name)
        if label is None or cell is None:
            return cell is label
        under = {row[0] for row in self.rows if label in row[1:]}
        is_value = text(label) in map(text, self.values)
        if kind == "class" and self.is_from_data:
            return text(cell) not in map(text, shown)
        if kind == "class" or (kind == "" and self.rows and not is_value):
            return text(cell) in under
        return text(cell) == text(label)


def hierarchy(draw: np.random.Generator, values: Sequence[Any]) -> dict[str, Any]:
    """A tree whose classes have the names of values under them, of values elsewhere, or of none."""
    leaves = [text(value) for value in values]
    first = {leaf: str(draw.choice([leaf, *CLASSES])) for leaf in leaves}
    if draw.random() < 0.6:  # several values a class
        few = list(draw.choice(list(first.values()), 2))
        first = {leaf: str(draw.choice(few)) for leaf in leaves}
    second = {label: str(draw.choice([label, *CLASSES])) for label in set(first.values())}
    top = str(draw.choice(["*", *CLASSES]))
    tall = draw.random() < 0.5
    rows = [[leaf, first[leaf], *([second[first[leaf]]] if tall else []), top] for leaf in leaves]
    return {"hierarchy": {"rows": rows}}


def column(draw: np.random.Generator, kind: str) -> Column:
    """Some of the values, and whether they are declared."""
    values = list(VALUES[kind])
    if kind != "truth":
        values = [values[place] for place in draw.permutation(len(values))[: draw.integers(2, 7)]]
    way = draw.choice(["hierarchy", "hierarchy", "values", "data", "data"])
    if kind == "text" and way == "data":  # rare values are merged: as a word that is frequent, rare, or no value
        values = list(dict.fromkeys([*(["other"] if draw.random() < 0.5 else []), *draw.permutation(WORDS).tolist()]))
    if way == "hierarchy":
        return Column(values, hierarchy(draw, values))
    return Column(
        values, {"values": [each if kind != "day" else str(each) for each in values]} if way == "values" else {}
    )


def cells(draw: np.random.Generator, of: Column, rows: int, lacking: float) -> list[Any]:
    """Values that are frequent and rare, and missing ones."""
    weights = draw.dirichlet(np.full(len(of.values), 0.7))
    if draw.random() < 0.5:
        weights = np.sort(weights)[::-1]
    chosen = draw.choice(len(of.values), rows, p=weights)
    return [None if draw.random() < lacking else of.values[place] for place in chosen]


@dataclass(frozen=True)
class Hostile:
    """A table, the specification of its release, its columns without numbers, and what else is asked."""

    frame: pl.DataFrame
    spec: dict[str, Any]
    columns: dict[str, Column]
    more: dict[str, Any]

    @classmethod
    def drawn(cls, draw: np.random.Generator) -> "Hostile":
        rows, k = int(draw.integers(40, 140)), int(draw.integers(2, 6))
        kinds = {"x": str(draw.choice([*VALUES])), "y": "text"}
        columns = {name: column(draw, kind) for name, kind in kinds.items()}
        lacking = {name: float(draw.choice([0.0, 0.15])) for name in columns}
        frame = pl.DataFrame({
            "age": draw.integers(18, 80, rows), "x": cells(draw, columns["x"], rows, lacking["x"]),
            "y": cells(draw, columns["y"], rows, lacking["y"]),
            "person": draw.integers(0, rows * 2 // 3, rows), "weight": draw.lognormal(1, 0.5, rows).round(2),
            "kept": [str(draw.choice(WORDS)) if draw.random() < 0.8 else None for _ in range(rows)],
        }, schema_overrides={"age": pl.Int64, "y": pl.String, "kept": pl.String})  # fmt: skip
        nominal = {name: dict(one.declared) for name, one in columns.items()}
        for name in columns:
            if lacking[name] and draw.random() < 0.3:
                if "values" in nominal[name]:
                    nominal[name]["values"] = [*nominal[name]["values"], None]
                else:
                    nominal[name]["missing_is_value"] = True
        spec: dict[str, Any] = {
            "method": "boxes", "dataset_id": "t", "quasi_identifiers": ["age", "x", "y"], "k": k, "formats": FORMATS,
            "nominal": nominal, "missing_policy": str(draw.choice(["pattern", "pattern", "drop"])),
            "bounds": str(draw.choice(["cells", "tight"])), "keep": ["kept"] if draw.random() < 0.5 else [],
            "partition": str(draw.choice(["fast", "optimal"])), "max_suppressed_classes": 0.0,
            "rare_records": str(draw.choice(["keep", "keep", "mark"])),
        }  # fmt: skip
        more = MORE[int(draw.integers(len(MORE)))]
        spec |= more
        if draw.random() < 0.8:
            spec["statistics"] = [{"kind": "mean", "of": ["age"]}, *statistics(draw, columns)]
        return cls(frame, spec, columns, more)

    def lacks(self, name: str) -> bool:
        """Return whether records without a value of a column have none: not where missing is a value."""
        declared = self.spec["nominal"][name]
        return not declared.get("missing_is_value") and None not in declared.get("values", ())

    def about(self) -> pl.DataFrame:
        """The records that take part."""
        incomplete = (
            [name for name in self.columns if self.lacks(name)] if self.spec["missing_policy"] == "drop" else []
        )
        return self.frame.drop_nulls(incomplete) if incomplete else self.frame

    def records(self, name: str, values: Sequence[Any], shown: Mapping[str, Sequence[Any]]) -> int:
        """Count the records that have one of the values."""
        cells = self.about()[name].to_list()
        return sum(any(self.columns[name].has(value, shown[name], cell) for value in values) for cell in cells)

    def truth(self, one: Mapping[str, Any], shown: Mapping[str, Sequence[Any]]) -> float | None:
        """The value of a statistic about values, counted; None where there is none."""
        names = one["of"] if one["kind"] == "crosstab" else one["of"][-1:]
        rows = self.about().drop_nulls([name for name in names if self.lacks(name)]).to_dicts()
        named = [[value] for value in one["values"]] if one["kind"] == "crosstab" else [one["values"]]
        inside = [
            row
            for row in rows
            if all(
                any(self.columns[name].has(value, shown[name], row[name]) for value in values)
                for name, values in zip(names, named, strict=True)
            )
        ]
        mass = sum(self.weight(row) for row in inside)
        if one["kind"] == "domain_mean":
            return sum(self.weight(row) * row["age"] for row in inside) / mass if inside else None
        if one["kind"] == "crosstab":
            return float(mass)
        return mass / sum(self.weight(row) for row in rows) if rows else None

    def weight(self, row: Mapping[str, Any]) -> float:
        """Return the weight of a record."""
        return float(row["weight"]) if "survey_weight_column" in self.spec else 1.0

    @property
    def is_plain(self) -> bool:
        """Return whether nothing else was asked of the release, so that others can be made from it."""
        return not self.more and self.spec["rare_records"] == "keep"


def names(draw: np.random.Generator, of: Column) -> list[Any]:
    """Some values and classes as a question names them."""
    plain = [value if isinstance(value, bool | int | str) else str(value) for value in of.values]
    possible: list[Any] = [*plain, *({"value": value} for value in plain)]
    possible += [*of.classes, *({"class": label} for label in of.classes)]
    chosen: list[Any] = []
    for place in draw.permutation(len(possible)):
        if len(chosen) < draw.integers(1, 3) and possible[place] not in chosen:
            chosen.append(possible[place])
    return chosen


def statistics(draw: np.random.Generator, columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    """Statistics about values: all of them, and some by name."""
    possible: list[dict[str, Any]] = [{"kind": "crosstab", "of": ["x", "y"]}]
    for name, one in columns.items():
        for about in ({}, {"values": names(draw, one)}, {"values": names(draw, one)}):
            possible += [
                {"kind": "share", "of": [name], **about},
                {"kind": "domain_mean", "of": ["age", name], **about},
            ]
    return [possible[place] for place in draw.permutation(len(possible))[: draw.integers(1, 5)]]


class Released:
    """A release as whoever reads it has it: its files in all formats, and a certificate by a key that they trust."""

    def __init__(self, done: Done) -> None:
        draft = done.release
        assert draft is not None
        self.files = {
            f"release.{ending_of(ReleaseFormat(name))}": draft.files[ReleaseFormat(name)].path.read_bytes()
            for name in FORMATS
        }
        made = ReleaseRow(
            id="rel_t", owner="o", job_id="job_t", dataset_id="t", method="boxes", rows=draft.rows,
            columns=draft.columns, flags=[str(flag) for flag in draft.flags], tags={}, statistics=draft.statistics,
            parameters=draft.parameters,
        )  # fmt: skip
        digests = dict.fromkeys(FORMATS, "")
        self.body = statement(made, digests, previous=None, at=AT, issued="at publication")
        self.rows = pl.read_parquet(io.BytesIO(self.files["release.parquet"]))
        self.merged_as: dict[str, str] = draft.parameters["merged_as"]

    def shown(self, name: str) -> list[Any]:
        """The values that the release lists of a column."""
        sets = self.rows[f"{name}_set"].drop_nulls().to_list()
        return sorted({value for each in sets for value in each if value is not None} - {self.merged_as.get(name)})

    def envelope(self, files: Mapping[str, bytes]) -> bytes:
        """A certificate about these files, signed."""
        for each in self.body["subject"]:
            if each["name"] in files:
                each["digest"]["sha256"] = hashlib.sha256(files[each["name"]]).hexdigest()
        return ISSUER.sign(signed_statistics(self.body))

    def report(self, files: dict[str, bytes] | None = None) -> Report:
        """Return the verifier's report on the files, whatever they are: they are signed as they are."""
        return verify(files or self.files, self.envelope(files or self.files), KEYS)

    def changed(self, draw: np.random.Generator, folder: Path) -> tuple[str, dict[str, bytes]]:
        """The files with one cell changed, the same in all formats, and the column of the cell."""
        name, row = str(draw.choice(self.rows.columns)), int(draw.integers(len(self.rows)))
        values = self.rows[name].to_list()
        others = [value for place, value in enumerate(values) if value != values[row] and value not in values[:place]]
        if values[row] is not None and name != "box":
            others.append(None)
        if not others:
            others = [0 if values[row] is None else values[row] + 1]
        values[row] = others[int(draw.integers(len(others)))]
        changed = self.rows.with_columns(pl.Series(name, values, self.rows[name].dtype))
        return name, written(changed, folder)


def written(rows: pl.DataFrame, folder: Path) -> dict[str, bytes]:
    """Rows in all formats."""
    folder.mkdir()
    whole = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    places = np.arange(rows.height)
    columns = {name: Taken(whole.column(name).combine_chunks(), places) for name in whole.column_names}
    files = write_release(columns, folder, [ReleaseFormat(name) for name in FORMATS])
    return {f"release.{ending_of(name)}": file.path.read_bytes() for name, file in files.items()}


def each_name(columns: Mapping[str, Column]) -> Callable[[np.random.Generator], dict[str, Any]]:
    """Questions about a value or a class of a column, by one of its names."""

    def question(draw: np.random.Generator) -> dict[str, Any]:
        name = str(draw.choice(list(columns)))
        kind = str(draw.choice(["share", "domain_mean"]))
        return {"kind": kind, "of": ["age", name][kind == "share" :], "values": names(draw, columns[name])}

    return question
