"""Releases that were published of the same data, as far as their names say: without numbers, for whoever starts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.contracts.jobs import JobKind
from app.contracts.methods import METHODS, methods_of

#: Methods of whose releases a ledger keeps what composing needs.
LEDGERED: Final = frozenset(method.name for method in METHODS.values() if method.ledgered)
#: Methods whose rows are the original's, or follow them one by one: nobody is hidden among others.
OPAQUE: Final = frozenset(method.name for method in methods_of(JobKind.ANONYMIZATION)) - LEDGERED


@dataclass(frozen=True, slots=True)
class Earlier:
    """A release that was published of the same data; without a ledger, nothing is known of it but its method.

    Releases that say the same share a ledger.
    """

    release_id: str
    method: str
    ledger: Path | None
