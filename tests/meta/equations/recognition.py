"""Equations of the evidence that two tables are of the same people."""

from typing import Final

import numpy as np
from scipy.stats import binom

from tests.meta.equations.drawn import Drawn, Evaluated, right_side
from tests.meta.printed_arithmetic import value
from workers.algorithms.tables.recognition import needed_bits
from workers.algorithms.tables.splits import TILTS, Cells, evidence


def split_too_evenly(draw: np.random.Generator) -> None:
    """Tables of cells that all have two expected records of either and more, by chance or too evenly."""
    count, f = int(draw.integers(3, 40)), float(draw.uniform(0.35, 0.65))
    c = draw.integers(8, 40, count)
    a = np.round(f * c).astype(np.int64) if draw.random() < 0.5 else draw.binomial(c, f)
    tilts, hashes = np.array(TILTS, dtype=np.longdouble), np.arange(count, dtype=np.uint64)
    names = {"f": f, "N": int(c.sum()), "pi": np.pi, "lambda": tilts[:, None]}
    z = value(right_side("z ="), {**names, "a": a, "c": c})
    tilted = np.empty((len(tilts), count), dtype=np.longdouble)
    for cell, size in enumerate(c):
        every = np.arange(size + 1)
        of_cell = {**names, "P": binom.pmf(every, size, f), "a": every, "c": size}
        of_cell["z"] = value(right_side("z ="), of_cell)
        tilted[:, cell] = value(right_side("Z ="), of_cell)
    e = value(right_side("e ="), {**names, "z": z, "Z": tilted, "R": value(right_side("R ="), names)})
    first, second = (Cells(hashes[here > 0], here[here > 0]) for here in (a, c - a))
    np.testing.assert_allclose(evidence([(first, second)], share=f)[0], np.log2(e), rtol=1e-9, atol=1e-9)


def needed(draw: np.random.Generator) -> Drawn:
    tables = int(draw.integers(1, 500))
    return Drawn({"T": tables, "bits": needed_bits(tables)})


EVALUATED: Final[Evaluated] = {"bits >= log2(1000 T)": needed}
#: Equations that are one computation together.
TOGETHER: Final = {("z =", "Z =", "e =", "R ="): split_too_evenly}
