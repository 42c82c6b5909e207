"""How an anonymized table stores its quasi-identifiers: as they are, as two bounds, or as a set."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from app.contracts.stored import StoredSpec


class Form(StrEnum):
    """What a quasi-identifier's cells are."""

    PLAIN = "plain"
    BOUNDS = "bounds"
    SET = "set"


@dataclass(frozen=True, slots=True)
class QuasiIdentifier:
    """One quasi-identifier: its name, and the columns that store it.

    A set comes first, then the class of the hierarchy that contains it, which reveals less.
    """

    name: str
    form: Form
    columns: tuple[str, ...]


_LOWER: Final = "_lo"
_UPPER: Final = "_hi"
_SET: Final = "_set"


def understood(name: str, columns: Collection[str]) -> QuasiIdentifier | None:
    """What a name means in a table; None where it means nothing.

    Parameters
    ----------
    name
        Of a column, of one of two bounds, of a set, or of what bounds or a set are about.
    columns
        The table's.
    """
    base = name
    for ending in (_LOWER, _UPPER, _SET):
        if name.endswith(ending) and name in columns:
            base = name.removesuffix(ending)
    bounds = (f"{base}{_LOWER}", f"{base}{_UPPER}")
    if base in columns and f"{base}{_SET}" in columns:
        return QuasiIdentifier(base, Form.SET, (f"{base}{_SET}", base))
    if name in columns and (name == base or name == f"{base}{_SET}"):
        return QuasiIdentifier(base, Form.PLAIN if name == base else Form.SET, (name,))
    if all(one in columns for one in bounds):
        return QuasiIdentifier(base, Form.BOUNDS, bounds)
    if name in columns:
        return QuasiIdentifier(name, Form.PLAIN, (name,))
    if f"{base}{_SET}" in columns:
        return QuasiIdentifier(base, Form.SET, (f"{base}{_SET}",))
    return None


def all_understood(names: Iterable[str], columns: Collection[str]) -> tuple[QuasiIdentifier, ...]:
    """What names mean, each once: both bounds of a column are one quasi-identifier."""
    identifiers = (understood(name, columns) for name in names)
    return tuple(dict.fromkeys(one for one in identifiers if one is not None))


def published(name: str, columns: Collection[str]) -> QuasiIdentifier:
    """How a release of boxes shows a column that it was made of.

    Parameters
    ----------
    name
        Of the column.
    columns
        The release's.
    """
    if f"{name}{_SET}" in columns:
        return QuasiIdentifier(name, Form.SET, (f"{name}{_SET}",))
    return QuasiIdentifier(name, Form.BOUNDS, (f"{name}{_LOWER}", f"{name}{_UPPER}"))


def telling_boxes(spec: Mapping[str, Any], columns: Collection[str]) -> tuple[QuasiIdentifier, ...]:
    """By what a record's box in a release is found: where kept columns count, each of their classes has its own boxes.

    Parameters
    ----------
    spec
        Of the job that made the release, as it is stored.
    columns
        The release's.
    """
    made = StoredSpec.of(spec)
    kept = made.keep if made.k_counts_kept else ()
    plain = (QuasiIdentifier(name, Form.PLAIN, (name,)) for name in kept if name in columns)
    return (*(published(name, columns) for name in made.quasi_identifiers), *plain)
