"""Texts of answers that are one of some words: which words they are now, and that more may come.

A client that reads an enumeration breaks on the word that it does not know. So a text of an answer is a text, of which
generators make one, and `x-extensible-enum` lists the words that exist. Bodies and parameters have enumerations, for
other words are refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.api.kinds import CAUSE_AND_REMEDY
from app.contracts.findings import KEPT_COLUMNS
from app.contracts.jobs import JobKind
from app.methods.catalogue import METHODS
from app.releases.people import RECOGNITION
from app.releases.permission import HELD

WORDS: Final = "x-extensible-enum"
MORE: Final = "More may come."
_PROBLEMS: Final = tuple(f"/problems/{code}" for code in CAUSE_AND_REMEDY)
_RELEASING: Final = tuple(name for name, method in METHODS.items() if method.kind is JobKind.ANONYMIZATION)
_AUDITING: Final = {name for name, method in METHODS.items() if method.kind is not JobKind.QUERY}
_AUDITS: Final = tuple(sorted(_AUDITING | {KEPT_COLUMNS, RECOGNITION, HELD}))
#: By schema and field: words of fields whose models stand below what has the words.
_WORDS: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    ("Problem", "type"): _PROBLEMS,
    ("ProblemKind", "type"): _PROBLEMS,
    ("Release", "method"): _RELEASING,
    ("FamilyPublication", "method"): _RELEASING,
    ("Finding", "audit"): _AUDITS,
}


def with_words(schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas, with the words of fields whose models do not know them."""
    made = dict(schemas)
    for (name, field), words in _WORDS.items():
        fields = made[name]["properties"]
        made[name] = {**made[name], "properties": {**fields, field: {**fields[field], "enum": list(words)}}}
    return made


def is_words(schema: Any) -> bool:
    """Return whether a schema is an enumeration of texts."""
    return isinstance(schema, Mapping) and isinstance(schema.get("enum"), list) and schema.get("type") == "string"


def opened(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An enumeration as answers have it."""
    rest = {key: value for key, value in schema.items() if key != "enum"}
    described = str(schema.get("description") or "").rstrip()
    return {**rest, WORDS: schema["enum"], "description": f"{described} {MORE}".lstrip()}
