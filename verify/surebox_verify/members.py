"""Members of a certificate: those that this version checks, those whose place is reserved, and those it does not know.

The published schema (`certificate.schema.json`) has all that a certificate may contain now. What stands elsewhere, or
is of another type, is named, so nothing that is signed is passed over. Later versions write what others may ignore into
`extensions`; one that is `critical` changes what the file or a number means, and a reader that does not know it checks
no content.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from surebox_verify.envelope import UnreadableError

EXTENSIONS: Final = "extensions"
_SCHEMA: Final = "certificate.schema.json"
_READER: Final = "x-reader"
_CRITICAL: Final = "critical"
#: Types of columns that this version reads.
_TYPES: Final = frozenset({"boolean", "date", "integer", "list", "number", "string"})


_IS_OF: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}


class _Kind(StrEnum):
    """Reasons to name a member."""

    RESERVED = "reserved"
    UNKNOWN = "this version does not know the member `{}`"
    OF_ANOTHER_TYPE = "`{}` has a value that this version does not know"


@dataclass(frozen=True)
class Members:
    """Parts of a certificate that this version does not check.

    Attributes
    ----------
    not_checked : extensions, and members whose place is reserved.
    unknown : members that this version does not know.
    unread : reasons why nothing of the file may be read by this version.
    """

    not_checked: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


NOTHING_ELSE: Final = Members()


@cache
def schema_text() -> str:
    """The published JSON Schema of a certificate's payload."""
    return files("surebox_verify").joinpath(_SCHEMA).read_text()


@cache
def _schema() -> Mapping[str, Any]:
    schema: Mapping[str, Any] = json.loads(schema_text())
    return schema


def members_of(body: Mapping[str, Any]) -> Members:
    """Look through the payload of a certificate.

    Parameters
    ----------
    body : the payload; it has the members that every certificate has.

    Raises
    ------
    UnreadableError
        `extensions` are no objects by name, or `critical` is neither true nor false.
    """
    extensions = body["predicate"].get(EXTENSIONS, {})
    critical = {name for name, one in _extensions(extensions).items() if _is_critical(name, one)}
    others = {**body, "predicate": {name: one for name, one in body["predicate"].items() if name != EXTENSIONS}}
    strange = dict.fromkeys(_strange(others, _schema(), ""))
    return Members(
        not_checked=(
            *(f"{EXTENSIONS}.{_shown(name)}" for name in sorted(extensions) if name not in critical),
            *(at for at, kind in strange if kind is _Kind.RESERVED),
        ),
        unknown=tuple(f"certificate: {kind.value.format(at)}" for at, kind in strange if kind is not _Kind.RESERVED),
        unread=(*map(_unread, sorted(critical)), *_unknown_types(body["predicate"]["release"]["columns"])),
    )


def _extensions(extensions: Any) -> Mapping[str, Mapping[str, Any]]:
    """The extensions, if they are well-formed: whether one is critical must not depend on the reader."""
    if not isinstance(extensions, Mapping) or not all(
        isinstance(one, Mapping) and isinstance(one.get(_CRITICAL, False), bool) for one in extensions.values()
    ):
        msg = f"the certificate's `{EXTENSIONS}` are no objects by name whose `{_CRITICAL}` is true or false"
        raise UnreadableError(msg)
    return extensions


def _is_critical(name: str, extension: Mapping[str, Any]) -> bool:
    """Return whether an extension is critical: as it states, or as the schema states of its name."""
    predicate = _schema()["properties"]["predicate"]["properties"]
    reserved = predicate[EXTENSIONS]["properties"].get(name, {}).get("properties", {})
    return extension.get(_CRITICAL) is True or reserved.get(_CRITICAL, {}).get("const") is True


def _unread(name: str) -> str:
    return (
        f"{EXTENSIONS}: `{_shown(name)}` changes what the file means, and this version does not know it: nothing of "
        "the file's content is checked. A newer surebox-verify may"
    )


def _unknown_types(columns: Any) -> Iterator[str]:
    for kind in sorted({str(each["type"]) for each in columns} - _TYPES):
        yield (
            f"columns: this version does not know the type `{_shown(kind)}`: nothing of the file's content is checked. "
            "A newer surebox-verify may"
        )


def _strange(value: Any, schema: Any, at: str) -> Sequence[tuple[str, _Kind]]:
    """Members at and below a place that the schema reserves or does not have, and values of another type; by path."""
    ways = [list(_below(value, one, at)) for one in _ways(schema) if _fits(value, one)]
    if not ways:
        return [(at, _Kind.OF_ANOTHER_TYPE)]
    return min(ways, key=lambda strange: sum(kind is not _Kind.RESERVED for _, kind in strange))


def _below(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[tuple[str, _Kind]]:
    """The same of the members, or items, of a value that a schema fits."""
    known, others = schema.get("properties", {}), schema.get("additionalProperties", "properties" not in schema)
    if isinstance(value, Mapping):
        for name, below in value.items():
            if name in known:
                yield from _member(below, known[name], f"{at}.{_shown(name)}".lstrip("."))
            elif isinstance(others, Mapping):
                yield from _strange(below, others, f"{at}.*")
            elif not others:
                yield f"{at}.{_shown(name)}".lstrip("."), _Kind.UNKNOWN
    elif isinstance(value, list):
        for below in value:
            yield from _strange(below, schema.get("items", True), f"{at}[]")


def _member(value: Any, schema: Any, at: str) -> Sequence[tuple[str, _Kind]]:
    if isinstance(schema, Mapping) and _READER in schema:
        return [] if value is None else [(at, _Kind.RESERVED)]
    return _strange(value, schema, at)


def _ways(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schemas of which a value has to fit one."""
    if not isinstance(schema, Mapping):
        yield {}
    elif "$ref" in schema:
        yield from _ways(_schema()["$defs"][schema["$ref"].removeprefix("#/$defs/")])
    elif "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from _ways(one)
    else:
        yield schema


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a value is of a schema's type, one of its values, and of its length."""
    types = schema.get("type", ())
    if not any(_IS_OF[one](value) for one in ([types] if isinstance(types, str) else types or _IS_OF)):
        return False
    if value not in schema.get("enum", [schema.get("const", value)]):
        return False
    return not isinstance(value, list) or schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))


def _shown(name: str) -> str:
    """A name from a certificate as it may stand in a line."""
    return name if name.isascii() and name.replace(".", "").replace("-", "").isidentifier() else ascii(name)
