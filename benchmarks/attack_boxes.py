"""Every guarantee of boxes on small random tables, by brute force: mixed, tied, missing, tiny.

    PYTHONPATH=. python benchmarks/attack_boxes.py [--tables 100000] [--first 1000] [--seconds 3600]

Each table is anonymized with demands drawn at random; k, l, t, alpha, persons, kept classes, membership, disjointness
of its boxes, that cells leave no place free, that each certain range holds the value, and what means inside boxes say,
are checked against their definitions (tests/algorithms/boxes/test_mixed.py). Half of the tables are cut as very many
records are: their nodes beyond a few records by halves (`fast`) or by a sample (`optimal`). With every twentieth goes a
tiny table of whole numbers, of which all data that fit boxes and means are gone through: certain ranges hold for all.
Prints the seed and the place of whatever fails, and ends with 1 then.
"""

import argparse
import time
import traceback

from tests.algorithms.boxes.mixed_completions import check_completions, tiny
from tests.algorithms.boxes.mixed_tables import Nodes, drawn
from tests.algorithms.boxes.test_mixed import check

TINY = 20  # tables for each tiny one


def main() -> int:
    """Attack, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first; the tests have those below")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop then, whatever is left")
    given = parser.parse_args()
    start, began, done, failed = time.monotonic(), time.process_time(), 0, 0
    gone_through = 0
    met: list[Nodes] = []
    for seed in range(given.first, given.first + given.tables):
        if time.monotonic() - start > given.seconds:
            break
        try:
            nodes = check(drawn(seed))
            met += [] if nodes is None else [nodes]
            gone_through += seed % TINY == 0 and check_completions(tiny(seed)) > 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"seed {seed}: {type(error).__name__} at {where.filename}:{where.lineno}: {error}", flush=True)
        done += 1
    used = time.process_time() - began
    halved, sampled, measured = (sum(getattr(each, how) > 0 for each in met) for how in Nodes.__dataclass_fields__)
    print(f"{done:,} tables, {len(met):,} could be anonymized, {failed} failed, {used:.0f} CPU s")
    print(f"all data that fit gone through of {gone_through:,} tiny tables")
    print(
        f"nodes beyond a block cut by halves in {halved:,}, by a sample in {sampled:,}, by all records in {measured:,}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
