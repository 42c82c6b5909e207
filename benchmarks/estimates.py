"""Compare what jobs are expected to need with what they take: CPU seconds and bytes, by method and table.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/estimates.py [METHOD ...] [--case small ...]

Each case runs in a process of its own, whose kernels are made ready and whose memory is bounded; how a job is measured
is stated in `tests/methods/measured.py`. In place of a job that is refused, all that would fit is measured.
"""

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from app.jobs.admission import Room, ways
from app.jobs.estimates import estimated
from benchmarks.estimated_shapes import ASKED, EVOLVING, SEARCHED, SENSITIVE, TEXTS, shapes
from benchmarks.recorded import RESULTS, as_table, printed, record, recorded
from tests.methods.bases import VARIABLES, microfile
from tests.methods.in_process import Bench
from tests.methods.measured import FACTOR, Measured, Watched, bounded, measure, right

COMMAND: Final = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/estimates.py --case"
HEADS: Final = (
    "method", "CPU s expected, taken", "ratio", "MB expected, taken", "ratio", "MB of files expected, made", "ratio",
    "MB of scratch expected, used", "ratio",
)  # fmt: skip
#: What one job may take: as the settings have it, on a worker of that memory.
ROOM: Final = Room(3_600.0, float(8 << 30), 50e9, 50e9)
#: What is compared, as figures name it.
RESOURCES: Final = ("seconds", "bytes", "written", "scratch")
#: How the row of a job that does not fit begins; after it come those that it could be instead.
REFUSED: Final = "refused"
#: What of a specification is less in what would fit.
_CHANGED: Final = {"quasi_identifiers", "statistics", "formats", "queries", "points", "variables", "search"}
#: Rows and columns of each table.
SHAPES: Final = {"small": (2_000, 4), "wide": (4_000, 24), "middle": (20_000, 10), "long": (100_000, 5)}
#: A table that is small as a file, and not as a matrix.
WIDEST: Final = (300, 2_000)
#: Columns of it that noise shaped by each record's neighbours is asked for: of all it is refused.
ROTATED: Final = 150
#: People of each of the thirty regions of a microfile.
PEOPLE: Final = {"groups": 150, "large groups": 3_000}
#: A fork would inherit the locks of polars' threads, and wait for them.
_FRESH: Final = multiprocessing.get_context("spawn")


def table(rows: int, columns: int) -> pl.DataFrame:
    """Numbers that hang together, in four lumps, and a few codes."""
    draw = np.random.default_rng([rows, columns])
    x = draw.normal(size=(rows, columns)) @ draw.normal(size=(columns, columns)) + 3.0 * draw.integers(0, 4, (rows, 1))
    frame = pl.DataFrame(np.round(x, 2), schema=[f"x{at}" for at in range(columns)])
    codes = {f"c{at}": draw.integers(0, 6, rows).astype(str) for at in range(3)}
    return frame.with_columns(**{name: pl.Series(values) for name, values in codes.items()})


def bodies(bench: Bench, columns: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Jobs of each method, by what to call them; those that take releases have them made first."""
    names, base = [f"x{at}" for at in range(columns)], {"dataset_id": "d"}
    few = names[:5]
    moments = [{"kind": "mean", "of": [one]} for one in few] + [{"kind": "correlation", "of": few[:2]}]
    boxes = {**base, "method": "boxes", "quasi_identifiers": names, "k": 10, "statistics": moments}
    noisy = {**base, "method": "uncertain", "quasi_identifiers": names, "k": 10.0}
    condensed = {**base, "method": "condensation", "quasi_identifiers": names, "k": 10}
    yield "boxes", boxes
    yield "uncertain", noisy
    yield "condensation", condensed
    yield (
        "frontier",
        {name: value for name, value in boxes.items() if name != "k"} | {"method": "frontier", "k": [5, 20]},
    )
    bench.release("b", boxes)
    bench.release("b2", boxes | {"k": 7})
    yield "composition", {"method": "composition", "release_ids": ["b", "b2"], **base}
    yield "determination", {"method": "determination", "release_ids": ["b", "b2"]}
    yield "influence", {"method": "influence", "release_ids": ["b"], "records": 2, **base}
    yield "linkage of boxes", {"method": "linkage", "release_id": "b", "knowledge_dataset_id": "d"}
    bench.release("n", noisy)
    yield "linkage of noisy rows", {"method": "linkage", "release_id": "n", "knowledge_dataset_id": "d"}
    bench.release("c", condensed)
    yield "linkage of condensed rows", {"method": "linkage", "release_id": "c", "knowledge_dataset_id": "d"}
    yield "influence of condensed rows", {"method": "influence", "release_ids": ["c"], "records": 2, **base}
    quasi = ["c0", "c1", "c2", *names[:5]]
    yield "table", {"method": "table", "quasi_identifiers": quasi, **base}
    yield "table, proposing", {"method": "table", **base}


def widest_bodies(bench: Bench, columns: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Jobs whose matrices are of all columns."""
    base = {"dataset_id": "d", "quasi_identifiers": [f"x{at}" for at in range(columns)]}
    means = [{"kind": "mean", "of": [one]} for one in base["quasi_identifiers"][:5]]
    yield "boxes", {**base, "method": "boxes", "k": 10, "statistics": means}
    yield "uncertain", {**base, "method": "uncertain", "k": 10.0}
    condensed = {**base, "method": "condensation", "k": 100}
    yield "condensation", condensed
    rotated = {
        **base,
        "quasi_identifiers": base["quasi_identifiers"][:ROTATED],
        "axes": "rotated",
        "scales": "per_record",
    }
    yield f"uncertain, {ROTATED} rotated", {**rotated, "method": "uncertain", "k": 10.0}
    bench.release("c", {**condensed, "quasi_identifiers": base["quasi_identifiers"][:ROTATED]})
    yield f"linkage, {ROTATED} condensed", {"method": "linkage", "release_id": "c", "knowledge_dataset_id": "d"}


def group_bodies(bench: Bench) -> Iterator[tuple[str, dict[str, Any]]]:
    """The attack on a group by both searches, what masks it by both, and the audits of that."""
    regions = ["region"]
    attack = {
        "method": "group", "auxiliary_dataset_id": "d", "region_columns": regions, "variables": VARIABLES,
        "hidden_group": {"column": "job", "values": ["army"]},
    }  # fmt: skip
    exhaustive = {**attack, "search": {"method": "exhaustive"}}
    yield "group, exhaustive", exhaustive
    yield "group, evolution", attack
    yield "group, the paper's evolution", {**attack, "search": {"method": "evolution", "diversity": False}}
    bench.job("g", exhaustive)
    masked = {"method": "swaps", "dataset_id": "d", "region_columns": regions, "model_job_id": "g"}
    cheapest = {**masked, "search": {"method": "assignment"}}
    yield "swaps, assignment", cheapest
    yield "swaps, assignment, rules not learned again", {**cheapest, "learn_again": False}
    yield "swaps, memetic", masked
    bench.release("s", cheapest)
    audit = {"model_job_id": "g", "release_ids": ["s"], "dataset_ids": ["d"], "masked_regions": [["R04"]]}
    yield "group_profile", {**audit, "method": "group_profile"}
    yield "swap_detection", {**audit, "method": "swap_detection"}


def cases() -> Iterator[tuple[str, pl.DataFrame, Callable[[Bench], Iterator[tuple[str, dict[str, Any]]]]]]:
    """What each case is called, its table, and its jobs."""
    for name, (rows, columns) in SHAPES.items():
        yield name, table(rows, columns), partial(bodies, columns=columns)
    yield "widest", table(*WIDEST), partial(widest_bodies, columns=WIDEST[1])
    for name, people in PEOPLE.items():
        bases = {4: people // 4, 11: people // 5, 23: people // 3}
        yield name, microfile(1, people=people, bases=bases), group_bodies
    yield from shapes()


def main() -> None:
    """Measure the chosen cases, and count the figures that differ by more than the factor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*")
    parser.add_argument(
        "--case",
        nargs="*",
        default=None,
        choices=[*SHAPES, "widest", *PEOPLE, *TEXTS, *SENSITIVE, *SEARCHED, *EVOLVING, *ASKED],
    )
    options = parser.parse_args()
    for case, frame, _ in cases():
        if options.case is not None and case not in options.case:
            continue
        print(f"\n{case}: {frame.height:,} x {frame.width:,}")
        rows, measured, failed = [printed(*HEADS)], [], False
        for name, made in _measured(case, options.methods):
            rows.append(printed(name, *([made, *[""] * (len(HEADS) - 2)] if isinstance(made, str) else _cells(made))))
            measured += [] if isinstance(made, str) else [made]
            failed |= isinstance(made, str) and not made.startswith(REFUSED)
        figures = _figures(rows, measured)
        print(f"{figures['different']} figures differ by more than a factor of {FACTOR:g}")
        if not options.methods and not failed:
            record(f"estimates_{case.replace(',', '').replace(' ', '_')}", f'{COMMAND} "{case}"', figures)
            record("estimates", COMMAND.removesuffix(" --case"), total())


def total() -> dict[str, Any]:
    """All cases together: how many shapes take more than the least of each resource, and how many of those are right.

    A shape that takes more than the least of nothing shows nothing, so it is not counted.
    """
    names = [path.stem for path in sorted(RESULTS.glob("estimates_*.json"))]
    every = [one for one in (recorded(name, "") for name in names) if "right" in one]
    above, within = (
        {name: sum(one[which][name] for one in every) for name in RESOURCES} for which in ("above", "right")
    )
    return {
        "recorded": sum(one["jobs"] for one in every),
        "shapes": sum(one["shapes"] for one in every),
        "within": sum(one["within"] for one in every),
        "above": above,
        "right": within,
        "refused": sum(one["refused"] for one in every),
    }


def _cells(measured: Measured) -> list[str]:
    expected, taken = measured.expected, measured.taken
    seconds, memory, written, scratch = measured.ratios
    most = f" (at most {expected.seconds:.1f})" if measured.is_upper else ""
    return [
        f"{measured.usual:.1f}{most}, {taken.seconds:.1f}",
        f"{seconds:.2f}",
        f"{expected.bytes / 1e6:.0f}, {taken.bytes / 1e6:.0f}",
        f"{memory:.2f}",
        f"{expected.written / 1e6:.0f}, {taken.written / 1e6:.0f}",
        f"{written:.2f}",
        f"{expected.scratch / 1e6:.0f}, {taken.scratch / 1e6:.0f}",
        f"{scratch:.2f}",
    ]


def _figures(rows: list[list[str]], measured: list[Measured]) -> dict[str, Any]:
    """The table, and how far its ratios are from 1."""
    seconds, memory, written, scratch = ([one.ratios[at] for one in measured] for at in range(4))
    counted = [one for one in measured if any(one.above)]
    return {
        "table": as_table(rows),
        "jobs": len(measured),
        "refused": len(rows) - 1 - len(measured),
        "shapes": len(counted),
        "within": sum(all(right(one)) for one in counted),
        "above": {name: sum(one.above[at] for one in measured) for at, name in enumerate(RESOURCES)},
        "right": {name: sum(right(one)[at] for one in measured if one.above[at]) for at, name in enumerate(RESOURCES)},
        "seconds": [min(seconds, default=1.0), max(seconds, default=1.0)],
        "bytes": [min(memory, default=1.0), max(memory, default=1.0)],
        "written": [min(written, default=1.0), max(written, default=1.0)],
        "scratch": [min(scratch, default=1.0), max(scratch, default=1.0)],
        "different": sum(not one for each in measured for one in right(each)),
    }


def _measured(case: str, methods: list[str]) -> Iterator[tuple[str, Measured | str]]:
    """The jobs of a case as they are measured, in a process of their own."""
    here, there = _FRESH.Pipe(duplex=False)
    child = _FRESH.Process(target=_measure_all, args=(case, methods, there))
    child.start()
    there.close()
    with suppress(EOFError):
        while (one := here.recv()) is not None:
            yield one
    child.join()


def _measure_all(case: str, methods: list[str], answer: Any) -> None:
    bounded()
    frame, jobs = next((frame, jobs) for name, frame, jobs in cases() if name == case)
    with tempfile.TemporaryDirectory() as folder:
        bench = Watched(Path(folder), seed=1)
        bench.dataset("d", frame)
        for name, body in jobs(bench):
            if not methods or body["method"] in methods:
                for one in _measure_or_refuse(bench, name, body, frame):
                    answer.send(one)
    answer.send(None)


def _measure_or_refuse(
    bench: Watched, name: str, body: dict[str, Any], frame: pl.DataFrame
) -> Iterator[tuple[str, Measured | str]]:
    """A job as it is measured; in place of one that is refused all that it is stated to be able to be."""
    named = bench.named(body)
    if named is None:
        raise ValueError(name)
    spec, given = named
    need = estimated(spec, given)
    if ROOM.holds(need):
        yield name, _measured_or_why(bench, body)
        return
    needs = f"{need.seconds:,.0f} s, {need.bytes / 1e9:.1f} GB, {need.written / 1e9:.1f} GB of files"
    yield name, f"{REFUSED}: {needs}"
    for way in ways(spec, given, ROOM):
        fitting = {**body, **way.spec.model_dump(mode="json", include=_CHANGED)}
        if way.rows is not None:
            bench.dataset("sampled", frame.sample(way.rows, seed=1))
            fitting["dataset_id"] = "sampled"
        yield f"{name}: {way.words}", _measured_or_why(bench, fitting)


def _measured_or_why(bench: Watched, body: dict[str, Any]) -> Measured | str:
    try:
        return measure(bench, body)
    except Exception as error:  # noqa: BLE001 - a benchmark says what happened, and goes on
        return f"{type(error).__name__}: {str(error)[:80]}"


if __name__ == "__main__":
    main()
