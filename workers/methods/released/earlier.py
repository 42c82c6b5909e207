"""Releases that were published of the same data, as far as their names say: without numbers, for whoever starts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Methods whose rows are the original's, or follow them one by one: nobody is hidden among others.
OPAQUE: Final = frozenset({"swaps", "condensation"})
#: Methods of whose releases a ledger keeps what composing needs.
LEDGERED: Final = frozenset({"boxes", "uncertain"})


@dataclass(frozen=True, slots=True)
class Earlier:
    """A release that was published of the same data; without a ledger, nothing is known of it but its method.

    Releases that say the same share a ledger.
    """

    release_id: str
    method: str
    ledger: Path | None
