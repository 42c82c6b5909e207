"""Digests, widths and CPU seconds of boxes on inputs that never change: what a change of the partition must keep.

    python benchmarks/freeze_boxes.py [--only persons coded] [--rows 1000000] [--data ../shared/data] [--out after.json]
    python benchmarks/freeze_boxes.py --beside before.json [--out after.json]

Each input is anonymized by `optimal`, `fast` and `mondrian` under fixed seeds and secrets. A line holds the first
digits of the SHA-256 of the boxes (bounds, sets, counts, links, means, design weights) and of all that is said of the
statistics, the mean width (over range, or values over the codebook's), boxes, and CPU seconds of the cuts, the
least of `--repeat`. Inputs are drawn here; `--data` adds Adult's numbers, and its numbers and codes, from a folder that
has them. `--beside` names digests that differ from those of an earlier run.
"""

import argparse
import gzip
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np

from surebox_core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest
from workers.algorithms.boxes.sides import Boxes, Hierarchy, NominalColumn, NumericColumn

METHODS = ("optimal", "fast", "mondrian")
SHOWN = 16  # digits of a digest
ADULT_NUMBERS, ADULT_CODES = (0, 2, 4, 10, 11, 12), (9, 8, 5, 6, 13)

Case = tuple[np.ndarray, BoxesRequest]


def mixture(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    label = rng.integers(0, 6, rows)
    centres, factors = rng.normal(0, 4, (6, columns)), rng.normal(size=(6, columns, columns)) / 2
    beside = np.einsum("pij,pj->pi", factors[label], rng.normal(size=(rows, columns)))
    return np.ascontiguousarray(centres[label] + beside)


def codes(rng: np.random.Generator, x: np.ndarray) -> tuple[NominalColumn, ...]:
    """Three columns of 3, 8 (a tree) and 20 values, the last one hanging on the first number."""
    rows = len(x)
    few = rng.integers(0, 3, rows).astype(np.int32)
    tree = Hierarchy(np.array([8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11, 11], dtype=np.int32))
    middle = rng.choice(8, rows, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]).astype(np.int32)
    spread = np.clip(np.argsort(np.argsort(x[:, 0])) * 20 // rows + rng.integers(-3, 4, rows), 0, 19)
    return NominalColumn(few, 3), NominalColumn(middle, 8, tree), NominalColumn(spread.astype(np.int32), 21)


def means(n: int) -> tuple[Statistic, ...]:
    return tuple(Statistic("mean", (i,)) for i in range(n))


def numbers(rows: int = 30_000) -> Case:
    x = mixture(np.random.default_rng(11), rows, 4)
    statistics = (*means(4), Statistic("variance", (1,)))
    return x, BoxesRequest(5, statistics, unlisted_column_weight=0.03)


def of_one_value() -> Case:
    """Numbers with ties, tails, a column of two values and a constant one."""
    rng = np.random.default_rng(12)
    x = mixture(rng, 20_000, 5)
    x[:, 0] = np.round(x[:, 0])
    x[:, 1] = np.where(rng.random(len(x)) < 0.9, 0.0, np.exp(x[:, 1]))
    x[:, 2] = rng.random(len(x)) < 0.3
    x[:, 3] = 7.0
    return x, BoxesRequest(7, means(5), bounds="tight", domains=((-100.0, 100.0), *[None] * 4))


def diverse() -> Case:
    """Numbers alone, l values of two columns of codes and of one of numbers: what needs no columns of all kinds."""
    x, request = numbers(12_000)
    rng = np.random.default_rng(13)
    sensitive = rng.choice(5, (len(x), 2), p=[0.6, 0.2, 0.1, 0.05, 0.05]).astype(np.int32)
    apart = BoxConstraints(3, codes=sensitive, values=rng.normal(size=(len(x), 1)), apart=np.array([0.5]))
    return x, replace(request, demands=apart)


def coded() -> Case:
    rng = np.random.default_rng(14)
    x = mixture(rng, 12_000, 3)
    statistics = (*means(3), *(Statistic("share", (3 + j,)) for j in range(3)), Statistic("domain_mean", (0, 4)))
    return x, BoxesRequest(6, statistics, nominal=codes(rng, x), unlisted_column_weight=0.03)


def missing() -> Case:
    x, request = coded()
    rng = np.random.default_rng(15)
    x = np.where(rng.random(x.shape) < [0.05, 0.0, 0.1], np.nan, x)
    lacking = rng.random((len(x), 3)) < [0.0, 0.1, 0.02]
    nominal = tuple(
        replace(c, codes=np.where(lacking[:, j], -1, c.codes).astype(np.int32)) for j, c in enumerate(request.nominal)
    )
    weights = rng.uniform(0.5, 3.0, len(x))
    return x, replace(request, nominal=nominal, patterns=True, survey=weights, max_suppressed_classes=0.1)


def persons() -> Case:
    x, request = coded()
    rng = np.random.default_rng(16)
    return x, replace(request, demands=BoxConstraints(persons=rng.integers(0, 400, len(x)).astype(np.int32)))


def private() -> Case:
    """l, t of ranks and of codes, (alpha, k), values apart, and a least width."""
    x, request = coded()
    x, request = x[:6_000], replace(request, nominal=tuple(replace(c, codes=c.codes[:6_000]) for c in request.nominal))
    rng = np.random.default_rng(17)
    held = BoxConstraints(
        2,
        codes=rng.choice([-1, 0, 1, 2, 3], (len(x), 2), p=[0.05, 0.4, 0.25, 0.2, 0.1]).astype(np.int32),
        values=rng.normal(size=(len(x), 1)),
        apart=np.array([0.4]),
        t=0.45,
        alpha=0.8,
        ordered=(False, True),
    )
    wide = (NumericColumn(min_width=0.2), NumericColumn(), NumericColumn())
    return x, replace(request, demands=held, columns=wide)


def kept() -> Case:
    """Kept columns that k counts, beside numbers alone."""
    x, request = numbers(12_000)
    rng = np.random.default_rng(18)
    classes = rng.choice(4, len(x), p=[0.6, 0.3, 0.0995, 0.0005]).astype(np.int32)
    return x, replace(request, demands=BoxConstraints(kept=classes))


def many(rows: int) -> Case:
    return mixture(np.random.default_rng(19), rows, 5), BoxesRequest(10, means(5))


def adult(folder: Path, *, coded: bool) -> Case:
    text = gzip.decompress((folder / "adult" / "adult.data.gz").read_bytes()).decode()
    rows = [line.split(", ") for line in text.splitlines() if line.strip() and "?" not in line]
    if not coded:
        x = np.array([[float(row[i]) for i in ADULT_NUMBERS] for row in rows])
        return x, BoxesRequest(5, means(6), bounds="tight")
    x = np.array([[float(row[i]) for i in (0, 4, 12)] for row in rows])
    held = [np.unique([row[c] for row in rows], return_inverse=True) for c in ADULT_CODES]
    nominal = tuple(NominalColumn(each.astype(np.int32), len(values)) for values, each in held)
    shares = tuple(Statistic("share", (3 + j,), 1.0 / c.values) for j, c in enumerate(nominal))
    widths = tuple(Statistic("mean", (i,), 1.0 / np.ptp(x[:, i])) for i in range(3))
    return x, BoxesRequest(5, (*widths, *shares), bounds="tight", nominal=nominal)


def digest(*parts: object) -> str:
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            whole.update(f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        elif part is None:
            whole.update(b"None")
        else:
            whole.update(" ".join(f"{number:.9e}" for number in numbers_in(part)).encode())
    return whole.hexdigest()


def numbers_in(part: object) -> Iterator[float]:
    """The numbers of a result in the order of its fields: names, and fields that are None, may change with the code.

    Sums of the same numbers differ in their last digits with where arrays happen to lie in memory: ten digits are read.
    """
    if isinstance(part, bool | int | float | np.number):
        yield float(part)
    elif is_dataclass(part):
        yield from numbers_in([getattr(part, field.name) for field in fields(part)])
    elif isinstance(part, np.ndarray):
        yield from part.ravel().astype(np.float64).tolist()
    elif isinstance(part, list | tuple):
        for each in part:
            yield from numbers_in(each)


def of_boxes(boxes: Boxes) -> str:
    beside = [each for pair in (boxes.means, boxes.survey_ends) if pair is not None for each in pair]
    return digest(boxes.lower, boxes.upper, boxes.counts, boxes.box, *boxes.sets, *beside, boxes.survey)


def of_statistics(outcome: BoxesOutcome) -> str:
    said = [
        (one.statistic, one.published, one.omega, one.true_value, one.shift, one.delta) for one in outcome.certificates
    ]
    return digest(said, outcome.privacy_uncertainty, outcome.statistical_uncertainty, outcome.suppressed)


def width(x: np.ndarray, boxes: Boxes) -> float:
    """Over range, or values over the codebook's (0 for one value): mean over columns and records."""
    low, high = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    extent = np.where(high > low, high - low, 1.0)
    cost = np.nan_to_num((boxes.upper - boxes.lower) / extent).sum(axis=1)
    for sets in boxes.sets:
        size = sets.sum(axis=1)
        cost += np.where(size > 1, size / sets.shape[1], 0.0)
    return float(cost @ boxes.counts / boxes.counts.sum() / (x.shape[1] + len(boxes.sets)))


def anonymized(x: np.ndarray, request: BoxesRequest) -> tuple[BoxesOutcome, float]:
    """The outcome, and CPU seconds of the steps that cut."""
    rng, cutting = np.random.default_rng(1), 0.0
    columns = x.shape[1] + len(request.nominal) + (request.survey is not None)
    state = anonymization.init(x, replace(request, keys=new_keys(columns, np.random.default_rng(2))))
    while not anonymization.done(state):
        start = time.process_time()
        before = anonymization.progress(state)[0]
        state = anonymization.step(state, rng=rng)
        if before == "partition":
            cutting += time.process_time() - start
    return anonymization.result(state), cutting


def inputs(rows: int, data: Path | None) -> Iterator[tuple[str, Callable[[], Case]]]:
    yield from {
        "numbers": numbers,
        "one_value": of_one_value,
        "diverse": diverse,
        "coded": coded,
        "missing": missing,
        "persons": persons,
        "private": private,
        "kept": kept,
        f"{rows}x5": lambda: many(rows),
    }.items()
    if data is not None:
        yield "adult6", lambda: adult(data, coded=False)
        yield "adult_coded", lambda: adult(data, coded=True)


def measured(name: str, case: Case, repeat: int) -> Iterator[tuple[str, dict[str, object]]]:
    x, request = case
    for method in METHODS:
        runs = [anonymized(x, replace(request, partition=method)) for _ in range(repeat)]
        outcome, seconds = runs[0][0], min(cpu for _, cpu in runs)
        kept_rows = x if outcome.chosen.rows is None else x[outcome.chosen.rows]
        yield (
            f"{name} {method}",
            {
                "boxes": of_boxes(outcome.boxes),
                "statistics": of_statistics(outcome),
                "width": width(kept_rows, outcome.boxes),
                "count": len(outcome.boxes.counts),
                "cpu": seconds,
            },
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    earlier = json.loads(args.beside.read_text()) if args.beside else {}
    lines: dict[str, dict[str, object]] = {}
    for name, case in inputs(args.rows, args.data):
        if args.only is not None and name not in args.only:
            continue
        for line, got in measured(name, case(), args.repeat):
            lines[line] = got
            before = earlier.get(line)
            same = "" if before is None else "same" if digests(before) == digests(got) else "DIFFERS"
            at_first = "" if before is None else f" (before: {before['width']:.5f}, {before['cpu']:.2f} CPU s)"
            print(
                f"{line:20} {str(got['boxes'])[:SHOWN]} {str(got['statistics'])[:SHOWN]} width {got['width']:.5f} "
                f"{got['count']:6} boxes {got['cpu']:.2f} CPU s {same}{at_first}",
                flush=True,
            )
    if args.out:
        args.out.write_text(json.dumps(lines, indent=1))


def digests(line: dict[str, object]) -> tuple[object, object]:
    return line["boxes"], line["statistics"]


if __name__ == "__main__":
    main()
