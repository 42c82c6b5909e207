"""Every guarantee of boxes on small random tables, by brute force: mixed, tied, missing, tiny.

    PYTHONPATH=. python benchmarks/attack_boxes.py [--tables 100000] [--first 1000] [--seconds 3600]

Each table is anonymized with demands drawn at random; k, l, t, alpha, persons, kept classes, membership, disjointness
of its boxes, and that each certain range holds the value, are checked against their definitions
(tests/algorithms/boxes/test_mixed.py). Prints the seed and the place of whatever fails, and ends with 1 then.
"""

import argparse
import time
import traceback

from tests.algorithms.boxes.test_mixed import check, drawn


def main() -> int:
    """Attack, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first; the tests have those below")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop then, whatever is left")
    given = parser.parse_args()
    start, began, met, done, failed = time.monotonic(), time.process_time(), 0, 0, 0
    for seed in range(given.first, given.first + given.tables):
        if time.monotonic() - start > given.seconds:
            break
        try:
            met += check(drawn(seed))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"seed {seed}: {type(error).__name__} at {where.filename}:{where.lineno}: {error}", flush=True)
        done += 1
    used = time.process_time() - began
    print(f"{done:,} tables, {met:,} could be anonymized, {failed} failed, {used:.0f} CPU s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
