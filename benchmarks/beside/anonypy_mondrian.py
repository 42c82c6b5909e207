"""Mondrian of the package anonypy on a table, in an environment of its own: it is no dependency of ours.

    python benchmarks/beside/anonypy_mondrian.py table.npz

`table.npz` has `x` (N, n), `codes` (N, d) and `sizes` (d,); anonypy and pandas must be installed where this runs, and
nothing of ours is. Prints NCP and CPU seconds for k = 5, 10 and 50. `real_tables.py anonypy` makes table and
environment.
"""

import sys
import time

import anonypy
import numpy as np
import pandas as pd


def main() -> None:
    table = np.load(sys.argv[1])
    x, codes, sizes = table["x"], table["codes"], table["sizes"]
    names = [f"n{i}" for i in range(x.shape[1])] + [f"c{j}" for j in range(codes.shape[1])]
    frame = pd.DataFrame(dict(zip(names, [*x.T, *codes.astype(str).T], strict=True)))
    for name in names[x.shape[1] :]:
        frame[name] = frame[name].astype("category")
    frame["s"] = 0
    for k in (5, 10, 50):
        start = time.process_time()
        parts = anonypy.Preserver(frame, names, "s").modrian.partition(k)
        used, cost = time.process_time() - start, 0.0
        for part in parts:
            rows = frame.index.get_indexer(part)
            cost += len(rows) * float((np.ptp(x[rows], axis=0) / np.ptp(x, axis=0)).sum())
            for j, size in enumerate(sizes):
                held = len(np.unique(codes[rows, j]))
                cost += len(rows) * (held / size if held > 1 else 0.0)
        print(f"anonypy, k = {k:2}: NCP {cost / len(x) / len(names):.4f}, {used:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
