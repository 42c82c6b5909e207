"""For how many rows a cube leaves one possible record.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_cubes.py --data ../shared

Uniform noise ends at the faces of its cube: the attacker who knows the whole original rules out every record outside
it, and then, by comparing scales, every record of another scale. Measured for Adult (six numeric columns), the CASC
census (13) and G20.D10K (five), at k = 2, 3 and 10: the share of 1,000 rows that leave the true record alone, by the
cube and after scales are compared, with the attack of uncertain_schemes.py. A run goes to benchmarks/results.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.recorded import as_table, printed, record
from benchmarks.uncertain_schemes import Data, adult, attack, clusters, densities, key
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.state import CalibrationRequest

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_cubes.py --data ../shared"
HEADS = ("data", "k", "scales", "alone in the cube", "alone after matching")
KS = (2, 3, 10)
#: Ways to share scales, each with the share of records that it suppresses by default.
SCHEMES = {"levels": 0.0, "common": 0.01, "shared": 0.01}


def census(folder: Path) -> Data:
    """The CASC census."""
    x = np.loadtxt(folder / "data/sdc/CASCrefmicrodata.csv", delimiter=",", skiprows=1)
    return Data("CASC", np.ascontiguousarray(x), None)


def alone(data: Data, k: int, scales: str) -> tuple[float, float]:
    """Share of rows that leave one possible record: by the cube, and after scales are compared."""
    request = CalibrationRequest(k=float(k), model="uniform", scales=scales, suppress_share=SCHEMES[scales])  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    made = calibrate(data.x, request)
    by_cube, _, by_scale, _ = attack(data.x, made, densities(data.x, made, rng), rng)
    return by_cube, by_scale


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    folder: Path = parser.parse_args().data
    rows = [printed(*HEADS)]
    figures: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for data in (adult(folder), census(folder), clusters()):
        for k in KS:
            for scales in SCHEMES:
                by_cube, by_scale = alone(data, k, scales)
                of_k = figures.setdefault(key(data.name), {}).setdefault(f"k{k}", {})
                of_k[scales] = {"cube": by_cube, "matched": by_scale}
                rows.append(printed(data.name, str(k), scales, f"{by_cube:.1%}", f"{by_scale:.1%}"))
    record("uncertain_cubes", COMMAND, {**figures, "table": as_table(rows)})


if __name__ == "__main__":
    main()
