"""Three claims of Aggarwal 2008 next to its figures: eq. 21 against eq. 19, condensation of each class, and mixed k.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_rows.py

Ranges of 101 to 200 records, k = 10, gaussian densities with a scale for each record, as in uncertain_paper.py: the
error without a domain (eq. 19) and with the data's extremes as domain (eq. 21). Classes of G20.D10K by pseudo-records
of all classes condensed together, as the service does, and of each class condensed by itself, as the baseline of
Aggarwal and Yu is. Mixed k: a half of the records, drawn, has k = 5 and the other k = 20 (III.B: errors at either k
extrapolate to it). Both tables go to benchmarks/results.
"""

import numpy as np

from benchmarks.recorded import as_table, printed, record
from benchmarks.uncertain_paper import LEVELS, SEED, VOTES, condensed, densities, g20, mean, queries_by_size, u10k
from workers.algorithms.uncertain.queries import classification, counting

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/uncertain_rows.py"
SIZE = (101, 200)
MIXED = "5 and 20"
KS = (5, 10, 20, MIXED)


def scaled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records in standard deviations, and these."""
    spread = x.std(axis=0)
    return np.ascontiguousarray(x / spread), spread


def errors(x: np.ndarray, spread: np.ndarray) -> dict[str, list[float]]:
    """Mean error in percent without a domain and with it, by k."""
    queries = queries_by_size(x, np.zeros(5), 1.0 / spread, 0.0, np.random.default_rng([SEED, 4]))[SIZE]
    half = np.random.default_rng([SEED, 6]).random(len(x)) < 0.5
    by_k = {}
    for k in KS:
        wanted = np.where(half, 5.0, 20.0) if k == MIXED else k
        held = densities(x, wanted, "gaussian", "per_record")[0]
        by_k[str(k)] = []
        for domain in (None, (x.min(axis=0), x.max(axis=0))):
            counts = counting.count_indexed(counting.index(held, domain), queries[0], queries[1], threads=2).estimate
            by_k[str(k)].append(mean(100.0 * np.abs(counts - queries[2]) / queries[2]).value)
    return by_k


def classes(x: np.ndarray, label: np.ndarray) -> list[list[float]]:
    """Accuracy of all classes condensed together, and of each by itself, by k."""
    order = np.random.default_rng([SEED, 5]).permutation(len(x))
    test, train = order[: len(x) // 5], order[len(x) // 5 :]
    known, own = np.ascontiguousarray(x[train]), label[train]
    by_k = []
    for k in LEVELS:
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
        by_k.append(row)
    return by_k


def main() -> None:
    even, spread = scaled(u10k(np.random.default_rng(SEED))[0])
    of_even = errors(even, spread)
    x, label = g20(np.random.default_rng(SEED))
    clusters, spread = scaled(x)
    of_clusters = errors(clusters, spread)
    rows = [printed("k", "U10K, eq. 19", "U10K, eq. 21", "G20.D10K, eq. 19", "G20.D10K, eq. 21")]
    rows += [printed(k, *(f"{error:.1f}" for error in (*of_even[k], *of_clusters[k]))) for k in of_even]
    accuracies = classes(clusters, label)
    condensing = [printed("accuracy", f"k = {LEVELS[0]}", *map(str, LEVELS[1:]))]
    for name, shares in zip(("all together", "each class by itself"), zip(*accuracies, strict=True), strict=True):
        condensing.append(printed(name, *(f"{share:.3f}" for share in shares)))
    figures = {"u10k": of_even, "g20": of_clusters, "domain": as_table(rows), "classes": as_table(condensing)}
    record("uncertain_rows", COMMAND, figures)


if __name__ == "__main__":
    main()
