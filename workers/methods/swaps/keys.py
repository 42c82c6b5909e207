"""What chance decides about swaps, as functions of a key: the same question about the same rows repeats its answer.

Two releases of one file with different swaps, laid side by side, show who moved. So the choice follows from the
sealed secrets of the dataset's columns and from what it is for (the place and alpha of a bound, the order of records),
and the records are distinguished by what they are, not by where they are in the file. The order of rows in the release
is not among it: that is drawn anew.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from randomgen import ChaCha

from app.contracts.datasets import NUMERIC, DatasetColumn
from workers.frames.harmonised import sources

_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Keys:
    """A key, as secret as the column secrets that it is made from."""

    key: bytes

    def generator(self, purpose: str) -> np.random.Generator:
        """Random numbers for one purpose."""
        key = int.from_bytes(hmac.digest(self.key, f"stream {purpose}".encode(), "sha256"), "big")
        return np.random.Generator(ChaCha(key=key, rounds=_ROUNDS))

    def share(self, *of: object) -> float:
        """A number in [0, 1) that follows from what it is for."""
        digest = hmac.digest(self.key, repr(of).encode(), "sha256")
        return (int.from_bytes(digest[:8], "big") >> 11) / 2.0**53


def keys_of(secrets: Mapping[str, bytes], rng: np.random.Generator) -> Keys:
    """The key of some columns' secrets; a fresh one where there are none."""
    if not secrets:
        return Keys(rng.bytes(32))
    return Keys(hmac.digest(b"surebox swaps 1", b"".join(sorted(secrets.values())), "sha256"))


def keying(columns: Sequence[DatasetColumn], variables: Sequence[str], recode: Mapping[str, object]) -> list[str]:
    """The columns whose secrets make the key: the numeric ones that the rules read, else the first numeric one."""
    numeric = [column.name for column in columns if column.type in NUMERIC]
    read = {source for name in variables for source in sources(name, recode)}  # type: ignore[arg-type]
    return [name for name in numeric if name in read] or numeric[:1]
