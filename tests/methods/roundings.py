"""Looking for marked numbers in few digits, or as floats of four bytes, where no single one can be told from chance.

Among some thousand marks one agrees in six digits with every two-hundredth number there is. So hits are counted, and
those of other numbers of the same kind, which nobody has: a column of cells that is published rounded has hundreds of
hits more than they have, and a single cell goes unseen.

The numbers of a release have all their digits: only tokens that have six to nine of them are looked at.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tests.methods.marked import digits_of

_TOKEN = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_OTHERS = 16  # sets of numbers that nobody has
_SHORT = (6, 7, 8)


@dataclass
class Roundings:
    """What has been read, and the numbers that are sought in it."""

    numbers: np.ndarray
    tokens: set[str] = field(default_factory=set)
    words: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, numbers: Iterable[float]) -> "Roundings":
        return cls(np.unique(np.fromiter(numbers, float)))

    def __post_init__(self) -> None:
        shifts = [1.0, *np.linspace(1.001, 1.049, _OTHERS)]  # the same spread of first digits
        self._sets = [self.numbers * each for each in shifts]
        self._floats = [np.unique(_words_of(each)) for each in self._sets]
        self._sought = np.unique(np.concatenate(self._floats))

    def look(self, piece: bytes) -> None:
        """Read some bytes."""
        for token in _TOKEN.findall(piece.decode(errors="ignore")):
            digits = digits_of(token)
            if min(_SHORT) <= len(digits) <= max(_SHORT) + 1:
                self.tokens.add(digits)
        raw = np.frombuffer(piece, np.uint8)
        for start in range(min(4, len(raw) - 3)):
            words = raw[start : start + (len(raw) - start) // 4 * 4].view("<u4")
            place = np.minimum(np.searchsorted(self._sought, words), len(self._sought) - 1)
            self.words |= set(words[self._sought[place] == words].tolist())

    def excess(self) -> dict[str, tuple[int, float]]:
        """Ways of writing in which more marks stand than others would by chance: how many, and how many of others."""
        seen = np.fromiter(self.words, np.uint32)
        counts = {f"{digits} digits": [self._in_text(each, digits) for each in self._sets] for digits in _SHORT}
        counts["float32 as text"] = [
            len({digits_of(str(each)) for each in one.astype(np.float32)} & self.tokens) for one in self._sets
        ]
        counts["float32 as bytes"] = [int(np.isin(one, seen).sum()) for one in self._floats]
        return {
            way: (marked, float(np.mean(others)))
            for way, (marked, *others) in counts.items()
            if marked > (chance := float(np.mean(others))) + 6.0 * np.sqrt(chance + 1.0) + 4.0
        }

    def _in_text(self, numbers: np.ndarray, digits: int) -> int:
        return len({digits_of(f"{each:.{digits - 1}e}".partition("e")[0]) for each in numbers} & self.tokens)


def _words_of(numbers: np.ndarray) -> np.ndarray:
    """Four bytes of each, in either order."""
    short = numbers.astype("<f4").view("<u4")
    return np.concatenate([short, short.byteswap()])
