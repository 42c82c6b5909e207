"""Every guarantee of boxes on small random tables, by brute force: mixed, tied, missing, tiny.

    PYTHONPATH=. python benchmarks/attack_boxes.py [--tables 10000] [--first 1000] [--seconds 3600]

Each table is anonymized with demands drawn at random; k, l, t, alpha, persons, kept classes, membership, disjointness
of its boxes, that cells leave no place free, that each certain range holds the value, and what means inside boxes say,
are checked against their definitions (tests/algorithms/boxes/test_mixed.py). Half of the tables are cut as very many
records are: their nodes beyond a few records by halves (`fast`) or by a sample (`optimal`). With every twentieth goes a
tiny table of whole numbers, of which all data that fit boxes and means are gone through: certain ranges hold for all.
Prints the seed and the place of whatever fails, and ends with 1 then. Counts go to benchmarks/results where neither
option changes the tables.
"""

import argparse
import time
import traceback

from benchmarks.recorded import record
from tests.algorithms.boxes.mixed_completions import check_completions, tiny
from tests.algorithms.boxes.mixed_tables import Nodes, drawn
from tests.algorithms.boxes.test_mixed import check

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/attack_boxes.py"
TABLES, FIRST = 10_000, 1_000
TINY = 20  # tables for each tiny one
WAYS = {"halved": "by halves", "sampled": "by a sample", "measured": "by all records"}


def attacked(seeds: range, seconds: float) -> dict[str, float]:
    """Counts of tables: attacked, anonymized, failed, tiny ones, and by how nodes beyond a block were cut."""
    start, began, met = time.monotonic(), time.process_time(), list[Nodes]()
    done = failed = tiny_tables = 0
    for seed in seeds:
        if time.monotonic() - start > seconds:
            break
        try:
            nodes = check(drawn(seed))
            met += [] if nodes is None else [nodes]
            tiny_tables += seed % TINY == 0 and check_completions(tiny(seed)) > 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"seed {seed}: {type(error).__name__} at {where.filename}:{where.lineno}: {error}", flush=True)
        done += 1
    cut = {name: sum(getattr(each, name) > 0 for each in met) for name in WAYS}
    counts = {"tables": done, "anonymized": len(met), "failed": failed, "tiny": tiny_tables}
    return counts | cut | {"seconds": time.process_time() - began}


def main() -> int:
    """Attack, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first; the tests have those below")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop then, whatever is left")
    given = parser.parse_args()
    figures = attacked(range(given.first, given.first + given.tables), given.seconds)
    counts = f"{figures['anonymized']:,} could be anonymized, {figures['failed']} failed"
    print(f"{figures['tables']:,} tables, {counts}, {figures['seconds']:.0f} CPU s")
    print(f"all data that fit gone through of {figures['tiny']:,} tiny tables")
    print("nodes beyond a block cut", ", ".join(f"{words} in {figures[name]:,}" for name, words in WAYS.items()))
    if (given.first, figures["tables"]) == (FIRST, TABLES):
        record("attack_boxes", COMMAND, figures)
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
