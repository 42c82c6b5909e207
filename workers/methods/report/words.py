"""What each method did, in sentences; and what any result says, where it has no page of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from workers.methods.report.facts import JsonObject
from workers.methods.report.sections import Cell, Section, Table, pairs

#: Entries of a list that is shown.
_LONGEST: Final = 50


def uncertain(told: JsonObject) -> Section:
    """What an uncertain release is."""
    k = told.get("k") if told.get("k") is not None else "the k that stands in a column of its own"
    return Section(
        "What was asked and done",
        sentences=(
            (
                f"Each record is published as a {told.get('model', 'gaussian')} density: a centre drawn near the "
                f"record, and its scale. Scales are such that on expectation at least {k} records fit a published "
                "density as well as the record it stands for."
            ),
            f"Scales are `{told.get('scales', 'levels')}`; columns are scaled `{told.get('scaling', 'global')}`.",
        ),
    )


def condensation(told: JsonObject) -> Section:
    """What a condensed release is."""
    return Section(
        "What was asked and done",
        sentences=(
            (
                f"Records were put into groups of at least {told.get('k')}; of each group only the mean and the "
                "covariance were taken, and made-up records drawn from them. No row is anybody's. No range is certain."
            ),
        ),
    )


def swaps(told: JsonObject) -> Section:
    """What a release with swapped places is."""
    places = ", ".join(map(str, told.get("parameter", ()))) or "the place"
    return Section(
        "What was asked and done",
        sentences=(
            (
                f"Values of {places} were exchanged between pairs of records that are alike otherwise, so that places "
                "where a group is concentrated no longer stand out by the rules that were given. Every other cell "
                "stays as it was."
            ),
            (
                "This hides the places from those rules. A classifier trained on other data may still see them: the "
                "owner's report says how well."
            ),
        ),
    )


def other(told: JsonObject) -> Section:
    """A method without a text of its own: its parameters."""
    rows = [(name, cell) for name, value in told.items() if (cell := _cell(value)) is not None]
    return Section("What was asked", tables=(pairs("Parameters", rows),)) if rows else Section("What was asked")


def figures(result: JsonObject, *, title: str, without: Sequence[str] = ()) -> Section:
    """All numbers and short lists of a result, by their names."""
    tables = [pairs("Figures", [(name, value) for name, value in _flat(result, without) if value is not None])]
    tables += _tables(result, without)
    return Section(title, tables=tuple(table for table in tables if table.rows))


def _flat(result: JsonObject, without: Sequence[str], before: str = "") -> Iterator[tuple[str, Cell]]:
    for name, value in result.items():
        if name in without:
            continue
        if isinstance(value, Mapping) and len(value) <= _LONGEST:
            yield from _flat(value, without, f"{before}{spoken(name)}: ")
        elif not isinstance(value, (list, tuple)) or not any(
            isinstance(part, (list, tuple, Mapping)) for part in value
        ):
            yield f"{before}{spoken(name)}", _cell(value)


def _tables(result: JsonObject, without: Sequence[str]) -> Iterator[Table]:
    for name, value in result.items():
        if name in without or not isinstance(value, (list, tuple)) or not value:
            continue
        if all(isinstance(part, Mapping) for part in value):
            head = tuple(value[0])
            rows = tuple(tuple(_cell(part.get(column)) for column in head) for part in value[:_LONGEST])
            yield Table(spoken(name), tuple(map(spoken, head)), rows)


def _cell(value: Any) -> Cell:
    if isinstance(value, (list, tuple)):
        few = ", ".join("\N{EN DASH}" if part is None else str(part) for part in value[:_LONGEST])
        return f"{few}, \N{HORIZONTAL ELLIPSIS}" if len(value) > _LONGEST else few or None
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {part}" for name, part in list(value.items())[:_LONGEST]) or None
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def spoken(name: str) -> str:
    """A field's name as words."""
    return name.replace("_", " ").strip()
