"""Three claims of Aggarwal 2008 beside its figures: eq. 21 against eq. 19, condensation of each class, and mixed k.

OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_rows.py

Ranges of 101 to 200 records, k = 10, gaussian densities with a scale for each record, as in uncertain_paper.py: the
error without a domain (eq. 19) and with the data's extremes as domain (eq. 21). Classes of G20.D10K by pseudo-records
of all classes condensed together, as the service does, and of each class condensed by itself, as the baseline of
Aggarwal and Yu is. Mixed k: a half of the records, drawn, has k = 5 and the other k = 20; beside the mean of the errors
at either k (III.B: such figures extrapolate).
"""

import numpy as np

from benchmarks.uncertain_paper import SEED, VOTES, condensed, densities, g20, mean, queries_by_size, u10k
from workers.algorithms.uncertain.queries import classification, counting

SIZE = (101, 200)


def main() -> None:
    for name, make in (("U10K", u10k), ("G20.D10K", g20)):
        x, label = make(np.random.default_rng(SEED))
        spread = x.std(axis=0)
        x = np.ascontiguousarray(x / spread)
        queries = queries_by_size(x, np.zeros(5), 1.0 / spread, 0.0, np.random.default_rng([SEED, 4]))[SIZE]
        print(
            f"\n{name}: error of counts of 101-200 in %\n\n| | without domain (19) | with domain (21) |\n|---|---|---|"
        )
        half = np.random.default_rng([SEED, 6]).random(len(x)) < 0.5
        for k in (5, 10, 20, "5 and 20"):
            wanted = np.where(half, 5.0, 20.0) if k == "5 and 20" else k
            held = densities(x, wanted, "gaussian", "per_record")[0]
            row = []
            for domain in (None, (x.min(axis=0), x.max(axis=0))):
                ready = counting.index(held, domain)
                counts = counting.count_indexed(ready, queries[0], queries[1], threads=2).estimate
                row.append(mean(100.0 * np.abs(counts - queries[2]) / queries[2]).value)
            print(f"| k = {k} | {row[0]:.1f} | {row[1]:.1f} |", flush=True)
        if label is not None:
            classes(x, label)


def classes(x: np.ndarray, label: np.ndarray) -> None:
    order = np.random.default_rng([SEED, 5]).permutation(len(x))
    test, train = order[: len(x) // 5], order[len(x) // 5 :]
    known, own = np.ascontiguousarray(x[train]), label[train]
    print("\n| accuracy | condensed together | each class by itself |\n|---|---|---|")
    for k in (5, 10, 20, 50, 100):
        together = condensed(known, k)
        parts = [condensed(np.ascontiguousarray(known[own == one]), k).z for one in (0, 1)]
        row = []
        for z, of in (
            (together.z, own[together.stands_for]),
            (np.vstack(parts), np.repeat([0, 1], [len(part) for part in parts])),
        ):
            ready = classification.nearest_index(z, z.std(axis=0))
            predicted = classification.classify_by_nearest(ready, of, x[test], VOTES, threads=2).label
            row.append(float((predicted == label[test]).mean()))
        print(f"| k = {k} | {row[0]:.3f} | {row[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
