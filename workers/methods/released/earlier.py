"""Releases that were published of the same data, as far as their ledgers state: without numbers, for whoever starts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.contracts.jobs import JobKind
from app.methods.catalogue import METHODS, methods_of

#: Methods of whose releases a ledger keeps what composing needs.
LEDGERED: Final = frozenset(method.name for method in METHODS.values() if method.ledgered)
#: Methods whose rows are the original's, or follow them one by one: no one is hidden among others.
OPAQUE: Final = frozenset(method.name for method in methods_of(JobKind.ANONYMIZATION)) - LEDGERED


@dataclass(frozen=True, slots=True)
class Earlier:
    """A release that was published of the same data; without a ledger, nothing is known of it but its method.

    Releases that state the same share a ledger.

    Attributes
    ----------
    release_id, method, ledger
        Which one, and what its ledger keeps of what it published.
    dataset_id, dataset
        The data that it was made from; the typed copy while that is kept.
    persons, key
        Fingerprints of these data's records and where each was, and by what they are keyed; None for releases of before
        they were kept.
    scale
        Of an uncertain release, the noise of each record, as .npy; None where that is not known by now.
    is_published
        Whether it has been neither withdrawn nor deleted since: only then a series can be made from it.
    parameters
        What is public of its specification; None where that is not known, or where it is of a series itself.
    """

    release_id: str
    method: str
    ledger: Path | None
    dataset_id: str = ""
    dataset: Path | None = None
    persons: Path | None = None
    key: bytes = b""
    scale: Path | None = None
    is_published: bool = True
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FamilyTerms:
    """What a family states about its tables.

    Attributes
    ----------
    dataset_id
        The data of today.
    key, under
        By which its fingerprints are keyed, and the name of that secret.
    persons
        Columns that state whose record one is, by the names that the family knows: what today's data call them.
    forgotten
        Those that today's data lack.
    columns
        Columns that the keeper has mapped: by their earlier names those of today.
    is_new_version
        Whether today's data are declared a new version of earlier ones.
    """

    dataset_id: str = ""
    key: bytes = bytes(16)
    under: str = ""
    persons: Mapping[str, str | None] = field(default_factory=dict)
    forgotten: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    is_new_version: bool = False


#: Of a family that reveals nothing.
NO_TERMS: Final = FamilyTerms()
