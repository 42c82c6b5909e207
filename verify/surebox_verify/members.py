"""Members of a certificate: those that this version checks, those whose place is reserved, and those it does not know.

The published schema (`certificate.schema.json`) has all that a certificate may contain now. What stands elsewhere is
named, so nothing that is signed is passed over. Later versions write what others may ignore into `extensions`; one that
is `critical` changes what the file or a number means, and a reader that does not know it checks no content.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Members:
    """What a certificate contains that this version does not check.

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
            *(at for at, reserved in strange if reserved),
        ),
        unknown=tuple(
            f"certificate: this version does not know the member `{at}`" for at, reserved in strange if not reserved
        ),
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
    """Whether an extension is critical: as it states, or as the schema does of its name."""
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


def _strange(value: Any, schema: Any, at: str) -> Iterator[tuple[str, bool]]:
    """Members below a place that the schema reserves (True) or does not have; each by its path."""
    for one in _ways(schema):
        if isinstance(value, Mapping) and "properties" in one:
            for name, below in value.items():
                yield from _member(below, one["properties"].get(name), f"{at}.{_shown(name)}".lstrip("."))
            return
        if isinstance(value, Mapping) and isinstance(one.get("additionalProperties"), Mapping):
            for below in value.values():
                yield from _strange(below, one["additionalProperties"], f"{at}.*")
            return
        if isinstance(value, list) and "items" in one:
            for below in value:
                yield from _strange(below, one["items"], f"{at}[]")
            return


def _member(value: Any, schema: Any, at: str) -> Iterator[tuple[str, bool]]:
    if schema is None:
        yield at, False
    elif isinstance(schema, Mapping) and _READER in schema:
        if value is not None:
            yield at, True
    else:
        yield from _strange(value, schema, at)


def _ways(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and those that it is made of."""
    if isinstance(schema, Mapping):
        yield schema
        for one in schema.get("anyOf", ()):
            yield from _ways(one)


def _shown(name: str) -> str:
    """A name from a certificate as it may stand in a line."""
    return name if name.isascii() and name.replace(".", "").replace("-", "").isidentifier() else ascii(name)
