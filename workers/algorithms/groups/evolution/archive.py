"""The archive of a run: every rule that it has judged, once.

Notation as in rules.rules; n : rules in the archive.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.rules.rules import Rules


@dataclass
class Archive:
    """Rules and their sums of APC, in the order in which they were first judged; grows in place.

    Attributes
    ----------
    rules : (n, V).
    sums : (n, 2), over vital records, over the others.
    place : where a rule is, by its bytes.
    """

    rules: Rules
    sums: FloatArray
    place: dict[bytes, int] = field(default_factory=dict)

    def unknown(self, rules: Rules) -> Rules:
        """Those of `rules` that are not in the archive, each once, in their order."""
        seen: set[bytes] = set()
        fresh = []
        for at, key in enumerate(keys(rules)):
            if key not in self.place and key not in seen:
                seen.add(key)
                fresh.append(at)
        return rules[fresh]

    def add(self, rules: Rules, sums: FloatArray) -> None:
        """New rules, none of which is known."""
        known = len(self.rules)
        self.place.update((key, known + at) for at, key in enumerate(keys(rules)))
        self.rules = np.concatenate([self.rules, rules])
        self.sums = np.concatenate([self.sums, sums])

    def places(self, rules: Rules) -> IntArray:
        """(R,), where known rules are."""
        return np.array([self.place[key] for key in keys(rules)], dtype=np.int64)


def keys(rules: Rules) -> Iterable[bytes]:
    """What rules are distinguished by."""
    packed = rules.tobytes()
    width = rules.shape[1]
    return (packed[at : at + width] for at in range(0, len(packed), width))


def archive(rules: Rules, sums: FloatArray) -> Archive:
    """An archive of rules that differ."""
    made = Archive(rules[:0], sums[:0])
    made.add(rules, sums)
    return made
