"""The statement about releases that have no boxes, held against their file: columns, flags, scales.

Nothing in a file of noise, made-up records or exchanged values shows k or an estimate: the report states it. What can
be held against the file are the columns that a release of the method has, what its flags state about its parameters,
and the scales of noise that has published ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from surebox_core.types import FloatArray

_ROUNDED: Final = 1e-9
_SWAPPED: Final = ("regions-swapped", "records-not-anonymous")


@dataclass(frozen=True)
class Unboxed:
    """A data file of another method than boxes, and the statement about it.

    Attributes
    ----------
    table : all of its columns.
    said : how the release was made.
    flags : what readers must know; None where nothing is said of them.
    statistics : as they are published.
    """

    table: pa.Table
    said: Mapping[str, Any]
    flags: frozenset[str] | None
    statistics: Sequence[Mapping[str, Any]]

    def problems(self) -> Iterator[str]:
        """What is not as it is said."""
        if (needed := self._columns()) is not None and needed != set(self.table.column_names):
            other = sorted(needed ^ set(self.table.column_names))
            yield f"columns: the file has not those of `{self.said['method']}` ({', '.join(map(repr, other))})"
        if self.flags is not None:
            for flag, holds in self._flags().items():
                if holds != (flag in self.flags):
                    yield f"flags: {flag!r} is {'' if flag in self.flags else 'not '}published, and not as it follows"
        if self.said.get("method") == "uncertain":
            yield from self._wrong_scales()

    def beyond_the_file(self) -> Iterator[str]:
        """What no file shows, or none that this version reads."""
        if self.said.get("k") is not None:
            yield f"k of {self.said['k']}: the records are not in the file"
        method = self.said.get("method")
        if method == "uncertain":
            yield "how noise was drawn and scales were chosen, and how wide units are: the records are not in the file"
        if method == "swaps":
            yield "how values were exchanged: the records are not in the file"
        if any(each.get("estimate") is not None for each in self.statistics):
            yield "`estimate` of a release without boxes: this version does not compute it"

    def _columns(self) -> set[str] | None:
        """The columns that the file has by what is said; None where that leaves it open."""
        method, names = self.said.get("method"), [str(each) for each in self.said.get("quasi_identifiers") or ()]
        kept = {str(each) for each in self.said.get("keep") or ()}
        if method == "condensation":
            return {*names, *kept}
        if method == "uncertain":
            axes = range(1, len(names) + 1) if self.said.get("axes") == "rotated" else ()
            return {*names, *kept, *(f"{name}_scale" for name in names)} | {
                f"{name}_axis_{axis}" for name in names for axis in axes
            }
        if method == "swaps":
            return set(self.table.column_names) | {str(each) for each in self.said.get("region_columns") or ()}
        return None

    def _flags(self) -> Mapping[str, bool]:
        """Flags that follow, and whether each holds."""
        method, said = self.said.get("method"), self.said
        if method == "swaps":
            return dict.fromkeys(_SWAPPED, True)
        holds = {"kept-columns-not-counted": bool(said.get("keep"))}
        if method == "condensation":
            return holds | {"groups-of-one": said.get("k") == 1}
        if method == "uncertain":
            zero = any(bool((self._numbers(name) == 0.0).any()) for name in self._scales())
            return holds | {
                "scales-per-record": said.get("scales") == "per_record", "zero-scale": zero,
                "rare-records-suppressed": bool(said.get("suppress_share")),
            }  # fmt: skip
        return {}

    def _wrong_scales(self) -> Iterator[str]:
        """Scales that are none, not common, or below the least."""
        for name in self._scales():
            scale = self._numbers(name)
            if not (scale >= 0.0).all():
                yield f"scales: {name!r} has some that are below 0 or missing"
            elif self.said.get("scales") == "common" and len(np.unique(scale)) > 1:
                yield f"scales: `common` published, {name!r} has {len(np.unique(scale))}"
            least = self.said.get("min_scale") or 0.0
            own = least.get(name.removesuffix("_scale"), 0.0) if isinstance(least, Mapping) else least
            if self.said.get("axes") != "rotated" and (scale < float(own) * (1.0 - _ROUNDED)).any():
                yield f"min_scale: {own} of {name!r} published, a row has {float(scale.min()):g}"

    def _scales(self) -> list[str]:
        there = self.table.column_names
        return [name for each in self.said.get("quasi_identifiers") or () if (name := f"{each}_scale") in there]

    def _numbers(self, name: str) -> FloatArray:
        column = self.table.column(name).cast(pa.float64()).combine_chunks()
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
