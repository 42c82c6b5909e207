"""What each method did, in sentences; and what any result states, where it has no page of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from workers.methods.report.facts import JsonObject
from workers.methods.report.page import Cell, Section, Table, pairs, read_as

#: Entries of a list that is shown.
_LONGEST: Final = 50


def uncertain(parameters: JsonObject) -> Section:
    """What an uncertain release is."""
    k = parameters.get("k") if parameters.get("k") is not None else "the k in a column of its own"
    return Section(
        "The request and the method",
        sentences=(
            (
                f"Each record is published as a {parameters.get('density', 'gaussian')} density: a centre drawn near "
                f"the record, and its scale. Scales are such that on expectation at least {k} records fit a published "
                "density as well as the record it represents."
            ),
            (
                f"Scales are `{parameters.get('scales', 'levels')}`; columns are scaled "
                f"`{parameters.get('axes', 'global')}`."
            ),
        ),
    )


def condensation(parameters: JsonObject) -> Section:
    """What a condensed release is."""
    return Section(
        "The request and the method",
        sentences=(
            (
                f"Records were put into groups of at least {parameters.get('k')}; of each group only the mean and the "
                "covariance were taken, and made-up records drawn from them. No row is anyone's. No range is certain."
            ),
        ),
    )


def swaps(parameters: JsonObject) -> Section:
    """What a release with swapped places is."""
    places = ", ".join(map(str, parameters.get("region_columns", ()))) or "the place"
    return Section(
        "The request and the method",
        sentences=(
            (
                f"Values of {places} were exchanged between pairs of records that are alike otherwise, so that places "
                "where a group is concentrated no longer stand out by the rules that were given. Every other cell "
                "stays as it was."
            ),
            (
                "This hides the places from those rules. A classifier trained on other data may still see them: the "
                "owner's report states how well."
            ),
        ),
    )


def other(parameters: JsonObject) -> Section:
    """A method without a text of its own: its parameters."""
    rows = [(name, cell) for name, cell in _flat(parameters, ()) if cell is not None]
    tables = [pairs("Parameters", rows), *_tables(parameters, ())]
    return Section("The request", tables=tuple(table for table in tables if table.rows))


def figures(result: JsonObject, *, title: str, without: Sequence[str] = ()) -> Section:
    """All numbers and short lists of a result, by their names; lists of objects are tables of their own."""
    tables = [pairs("Figures", list(_flat(result, without))), *_tables(result, without)]
    return Section(title, tables=tuple(table for table in tables if table.rows))


def meanings(result: JsonObject) -> Section:
    """What the figures of an audit state, one sentence each."""
    meaning = result.get("meaning")
    texts: JsonObject = meaning if isinstance(meaning, Mapping) else {}
    return Section("What the figures state", points=tuple(f"{spoken(name)}: {text}" for name, text in texts.items()))


def of_objects(caption: str, objects: Sequence[JsonObject], *, without: Sequence[str] = ()) -> Table:
    """A table with a row an object: values within its fields have columns of its own."""
    rows = [dict(_flat(one, without)) for one in objects[:_LONGEST]]
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(caption, names, tuple(tuple(row.get(name) for name in names) for row in rows))


def _flat(result: JsonObject, without: Sequence[str], before: str = "") -> Iterator[tuple[str, Cell]]:
    for name, value in result.items():
        if name in without:
            continue
        if isinstance(value, Mapping) and len(value) <= _LONGEST:
            yield from _flat(value, without, f"{before}{spoken(name)}: ")
        elif not _are_objects(value):
            yield f"{before}{spoken(name)}", _cell(value)


def _tables(result: JsonObject, without: Sequence[str], before: str = "") -> Iterator[Table]:
    for name, value in result.items():
        if name in without:
            continue
        if isinstance(value, Mapping):
            yield from _tables(value, without, f"{before}{spoken(name)}: ")
        elif _are_objects(value):
            yield of_objects(f"{before}{spoken(name)}", value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(part, Mapping) for part in value)


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return (_text(value) or None) if isinstance(value, (list, tuple, Mapping)) else str(value)


def _text(value: Any) -> str:
    """Any value as it is read within a line."""
    if isinstance(value, Mapping):
        return "; ".join(f"{spoken(str(name))}: {_text(part)}" for name, part in list(value.items())[:_LONGEST])
    if isinstance(value, (list, tuple)):
        few = ("; " if _are_objects(value) else ", ").join(map(_text, value[:_LONGEST]))
        return f"{few}, \N{HORIZONTAL ELLIPSIS}" if len(value) > _LONGEST else few
    return read_as(value)


def spoken(name: str) -> str:
    """A field's name as words."""
    return name.replace("_", " ").strip()
