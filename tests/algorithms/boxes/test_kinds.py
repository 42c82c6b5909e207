"""One name in kernels, a body for each kind of records."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from surebox_core.compiling.kernels import kernel
from tests.meta.project import ROOT
from workers.algorithms.boxes.partition.arrays import MixedRecords, MixedSide, NumericRecords, extents, new_side
from workers.algorithms.boxes.partition.gain import Records, Side, clear, extend, predicted

#: A process whose numba says that it is of a minor version that nobody has tested.
UNTESTED = """
import json, numba, sys
from numba.misc.init_utils import generate_version_info
numba.__version__ = "0.9999.0"
numba.version_info = generate_version_info(numba.__version__)
from tests.algorithms.boxes.test_kinds import costs
print(json.dumps([costs(), "surebox_core.compiling.inner_kernels" in sys.modules]))
"""


@kernel
def cost_of_all(records: Records, side: Side) -> float:
    clear(side)
    for row in range(len(records.rows)):
        extend(records, row, side)
    return float(predicted(records, len(records.rows), 1, side))


def costs() -> list[float]:
    """Of two records of numbers alone, and of the same with a column of codes."""
    rows, price = np.array([[0.0, 3.0], [2.0, 3.0]]), np.array([[1.0, 1.0], [0.5, 1.0]])
    order, none = np.arange(2, dtype=np.int32), np.empty((0, 2), np.float32)
    numeric = NumericRecords(rows, order, none, price, np.empty(2), np.empty(0), extents(2), -1)
    side = np.vstack([np.empty((4, 2)), np.full((1, 2), np.inf), np.full((1, 2), -np.inf)])
    mixed = MixedRecords(
        rows=rows,
        codes=np.array([[0], [1]], dtype=np.int32),
        worth=none,
        mass=np.empty(0, np.float32),
        order=order,
        price=price,
        omega=np.array([0.25, 0.5]),
        scores=np.empty((0, 2)),
        score_start=np.zeros(2, dtype=np.int64),
        start=np.array([0, 2]),
        ancestor=np.array([[0], [1]], dtype=np.int32),
        least=np.empty(0),
        extent=extents(rows.shape[1]),
        classes=-1,
    )
    of_both: MixedSide = new_side(mixed)
    of_both.cell[0], of_both.cell[1] = np.inf, -np.inf
    return [cost_of_all(numeric, side), cost_of_all(mixed, of_both)]


def test_the_body_is_that_of_the_kind() -> None:
    """k = 1 and two records: s = (1, 0) of numbers, room for two boxes, so t = 1/2; and 3/4 more of the codes."""
    s = np.array([1.0, 0.75])
    assert costs() == [2 * 0.5, 2 * 2 * np.sqrt(s.prod() / 2)]


def test_numbers_are_the_same_where_numba_is_of_another_minor_version() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNTESTED], capture_output=True, text=True, cwd=ROOT, timeout=500,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'verify'}", "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    computed: Any = json.loads(done.stdout)
    assert computed == [costs(), False]
