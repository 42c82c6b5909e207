"""What jobs are expected to need compared with what they take: CPU seconds and bytes, by method and table.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/estimates.py [METHOD ...] [--case small "large groups" ...]

Each case runs in a process of its own, whose kernels are made ready, twice: of the first run the memory is measured,
how far its high-water mark (VmHWM, reset before) exceeds what the process held; of the second the CPU seconds. The
ratio is estimate by measured. A job below a second, or below the least memory, is too small to matter: both figures
are taken to be at least that.
"""

import argparse
import gc
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from app.jobs.estimates import Estimate, estimated
from benchmarks.recorded import as_table, printed, record
from tests.methods.bases import VARIABLES, microfile
from tests.methods.in_process import Bench
from workers.engine.registry import runner_for
from workers.methods.protocol import Warming

COMMAND: Final = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/estimates.py --case"
HEADS: Final = ("method", "CPU s expected, taken", "ratio", "MB expected, taken", "ratio")
#: Rows and columns of each table.
SHAPES: Final = {"small": (2_000, 4), "wide": (4_000, 24), "long": (100_000, 5)}
#: A table that is small as a file, and not as a matrix.
WIDEST: Final = (300, 2_000)
#: Columns of it that noise shaped by each record's neighbours is asked for: of all it is refused.
ROTATED: Final = 150
#: People of each of the thirty regions of a microfile.
PEOPLE: Final = {"groups": 150, "large groups": 3_000}
#: A job is never smaller than that: below it nothing can be refused, or made to wait.
LEAST: Final = Estimate(1.0, 60e6)
FACTOR: Final = 3.0
#: A fork would inherit the locks of polars' threads, and wait for them.
_FRESH: Final = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Measured:
    """One case: what was expected, and what it took."""

    expected: Estimate
    taken: Estimate

    @property
    def ratios(self) -> tuple[float, float]:
        """Expected by taken, of CPU seconds and of bytes."""
        return (
            max(self.expected.seconds, LEAST.seconds) / max(self.taken.seconds, LEAST.seconds),
            max(self.expected.bytes, LEAST.bytes) / max(self.taken.bytes, LEAST.bytes),
        )


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


def main() -> None:
    """Measure the chosen cases, and count the figures that differ by more than the factor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--case", nargs="*", default=None, choices=[*SHAPES, "widest", *PEOPLE])
    options = parser.parse_args()
    for case, frame, jobs in cases():
        if options.case is not None and case not in options.case:
            continue
        print(f"\n{case}: {frame.height:,} x {frame.width:,}")
        rows, measured = [printed(*HEADS)], []
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder), seed=1)
            bench.dataset("d", frame)
            for name, body in jobs(bench):
                if options.methods and body["method"] not in options.methods:
                    continue
                made = _measured(bench, body)
                rows.append(printed(name, *([made, "", "", ""] if isinstance(made, str) else _cells(made))))
                measured += [] if isinstance(made, str) else [made]
        figures = _figures(rows, measured)
        print(f"{figures['different']} figures differ by more than a factor of {FACTOR:g}")
        if not options.methods and len(measured) == len(rows) - 1:
            record(f"estimates_{case.replace(' ', '_')}", f'{COMMAND} "{case}"', figures)


def _cells(measured: Measured) -> list[str]:
    expected, taken = measured.expected, measured.taken
    seconds, memory = measured.ratios
    return [
        f"{expected.seconds:.1f}, {taken.seconds:.1f}",
        f"{seconds:.2f}",
        f"{expected.bytes / 1e6:.0f}, {taken.bytes / 1e6:.0f}",
        f"{memory:.2f}",
    ]


def _figures(rows: list[list[str]], measured: list[Measured]) -> dict[str, Any]:
    """The table, and how far its ratios are from 1."""
    seconds, memory = ([one.ratios[at] for one in measured] for at in (0, 1))
    return {
        "table": as_table(rows),
        "jobs": len(measured),
        "seconds": [min(seconds, default=1.0), max(seconds, default=1.0)],
        "bytes": [min(memory, default=1.0), max(memory, default=1.0)],
        "different": sum(not 1 / FACTOR <= one <= FACTOR for one in (*seconds, *memory)),
    }


def _measured(bench: Bench, body: dict[str, Any]) -> Measured | str:
    here, there = _FRESH.Pipe(duplex=False)
    child = _FRESH.Process(target=_measure, args=(bench, body, there))
    child.start()
    there.close()
    try:
        answer: Measured | str = here.recv()
    except EOFError:
        answer = "the process ended"
    child.join()
    return answer


def _measure(bench: Bench, body: dict[str, Any], answer: Any) -> None:
    named = bench.named(body)
    if named is None:
        answer.send("refused")
        return
    expected = estimated(*named)
    bench.folder = Path(tempfile.mkdtemp(dir=bench.folder))
    try:
        runner = runner_for(body["method"])
        if isinstance(runner, Warming):
            runner.warm()
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        held = _status("VmRSS")
        bench.run(body)
        peak, begun = _status("VmHWM"), time.process_time()
        bench.run(body)
    except Exception as error:  # noqa: BLE001 - a benchmark says what happened, and goes on
        answer.send(f"{type(error).__name__}: {str(error)[:80]}")
        return
    answer.send(Measured(expected, Estimate(time.process_time() - begun, float(peak - held))))


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) * 1024


if __name__ == "__main__":
    main()
