"""Names that fields of results had when older jobs ended: their results stay as they were stored, reports read them."""

from collections.abc import Mapping
from typing import Any, Final

#: By method: the path of a field that has another name now, `*` for every item of a list, and that name.
FORMER: Final[Mapping[str, Mapping[tuple[str, ...], str]]] = {
    "table": {
        ("proposal", "columns", "*", "sentence"): "detail",
        ("proposal", "pairs", "*", "sentence"): "detail",
        ("proposal", "person_columns", "*", "sentence"): "detail",
    },
    "swaps": {
        ("generations",): "fitness_by_generation",
    },
    "group": {
        ("likeness", "text"): "detail",
        ("likeness", "unlike"): "unlike_columns",
    },
    "frontier": {
        ("points", "*", "infeasible"): "reason",
        ("records", "median_c"): "median_cost",
        ("records", "listed", "*", "c"): "cost",
    },
}


def with_present_names(method: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored result by the names that its fields have now.

    Parameters
    ----------
    method
        Of the job.
    result
        As it was stored.
    """
    made = dict(result)
    for path, name in FORMER.get(method, {}).items():
        made = _renamed(made, path, name)
    return made


def _renamed(value: Any, path: tuple[str, ...], name: str) -> Any:
    """The value with the field at the path renamed; the value itself where there is none."""
    step, *below = path
    if step == "*":
        return [_renamed(item, tuple(below), name) for item in value] if isinstance(value, list) else value
    if not isinstance(value, dict) or step not in value:
        return value
    if not below:
        return {name if key == step else key: item for key, item in value.items()}
    return {**value, step: _renamed(value[step], tuple(below), name)}
