"""What a calibration has come to so far, so that one that was interrupted goes on from there.

Notation
--------
entry : the name of a piece of work, and the arrays that it ended with.

A calibration that is begun again asks the same questions in the same order: everything follows from the records, the
request and earlier answers. So it is taken up by asking again, and answering from the journal as far as that goes. Work
that is made of other work takes the place of its entries when it ends. Sums are rounded as they were: what is answered
again is the same whatever was remembered, as long as the threads are as many.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Outcome: TypeAlias = dict[str, NDArray[Any]]


@dataclass
class Journal:
    """Entries in the order in which work ended; changes in place.

    Attributes
    ----------
    entries : names and arrays.
    place : entries that have been requested, or made, since the calibration was begun.
    """

    entries: list[tuple[str, Outcome]] = field(default_factory=list)
    place: int = 0

    def take(self, name: str) -> Outcome | None:
        """The next entry, if it is that of this work."""
        if self.place == len(self.entries) or self.entries[self.place][0] != name:
            return None
        self.place += 1
        return self.entries[self.place - 1][1]

    def put(self, begun: int, name: str, outcome: Outcome) -> None:
        """Note what work has ended with, in place of the entries since it was begun."""
        self.entries[begun:] = [(name, outcome)]
        self.place = begun + 1


def remembered(journal: Journal, name: str, work: Generator[float, None, Outcome]) -> Generator[float, None, Outcome]:
    """What some work ends with: from the journal, or by doing it.

    Parameters
    ----------
    journal : of the calibration.
    name : of the work; work inside of it has other names.
    work : not begun.
    """
    known = journal.take(name)
    if known is not None:
        work.close()
        return known
    begun = journal.place
    outcome = yield from work
    journal.put(begun, name, outcome)
    return outcome


def packed(journal: Journal) -> dict[str, NDArray[np.generic]]:
    """All entries as arrays; they contain scales of records, and are as secret as these."""
    return {
        f"{place}.{name}.{part}": array
        for place, (name, outcome) in enumerate(journal.entries)
        for part, array in outcome.items()
    }


def unpacked(arrays: Mapping[str, NDArray[np.generic]]) -> Journal:
    """The journal again, for a calibration that begins again."""
    entries: dict[int, tuple[str, Outcome]] = {}
    for key, array in arrays.items():
        place, name, part = key.split(".")
        entries.setdefault(int(place), (name, {}))[1][part] = array
    return Journal([entries[place] for place in sorted(entries)])
