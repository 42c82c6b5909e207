"""From `surebox serve` to the first answers on an existing folder, and what each process has cost by then.

    PYTHONPATH=. python benchmarks/start_up.py [--rounds 7]

Medians of rounds: until the API answers, until all workers are there (which it learns within a second); `surebox audit`
of 1,000 rows where no service runs (it starts one), and once more where that one still does.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import numpy as np
import psutil

from app.embedded.listening import parts_missing
from benchmarks.recorded import as_table, printed, record

COMMAND = "PYTHONPATH=. python benchmarks/start_up.py"
ROUNDS = 7
HEADS = ("until", "median, s", "least, s", "longest, s")
SUREBOX = str(Path(sys.executable).with_name("surebox"))
AUDIT = ("audit", "people.csv", "--quasi-identifiers", "age,sex", "--require", "k=1", "--quiet")
#: After so long nothing is imported or loaded any more.
SETTLED = 12.0


def serve(folder: Path) -> tuple[float, float, dict[str, float]]:
    """Seconds until the API is announced, until all parts are there; CPU seconds by process once it has settled."""
    began = time.perf_counter()
    command = [SUREBOX, "serve", "--data-dir", str(folder / ".surebox"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        said = next(line for line in service.stdout if "is ready at" in line)
        ready = time.perf_counter() - began
        place = urlsplit(said.split()[-1])
        while parts_missing(place.hostname or "", place.port or 0) != []:
            time.sleep(0.02)
        there = time.perf_counter() - began
        time.sleep(max(0.0, SETTLED - there))
        costs: dict[str, float] = defaultdict(float)
        for each in [psutil.Process(service.pid), *psutil.Process(service.pid).children(recursive=True)]:
            times = each.cpu_times()
            costs[each.name()] += times.user + times.system
        service.terminate()
    return ready, there, costs


def audit(folder: Path) -> tuple[float, float]:
    """Seconds of an audit that starts the service, and of the next one."""
    took = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run([SUREBOX, *AUDIT], cwd=folder, check=True, capture_output=True)
        took.append(time.perf_counter() - began)
    subprocess.run([SUREBOX, "stop"], cwd=folder, check=True, capture_output=True)
    return took[0], took[1]


def processor(served: list[tuple[float, float, dict[str, float]]]) -> tuple[list[list[str]], float]:
    """A row for each process that matters, and CPU seconds of all together; medians."""
    rows = [printed("process", "CPU s")]
    for name in sorted({name for one in served for name in one[2]}):
        costs = [one[2].get(name, 0.0) for one in served]
        if max(costs) >= 0.05:
            rows.append(printed(name, f"{statistics.median(costs):.2f}"))
    return rows, statistics.median(sum(one[2].values()) for one in served)


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    rng = np.random.default_rng(1)
    with TemporaryDirectory(dir="/tmp") as name:  # a socket's path is short
        folder = Path(name)
        ages, sexes = rng.integers(18, 80, 1000), rng.integers(0, 2, 1000)
        people = [f"{age},{'mf'[sex]}" for age, sex in zip(ages, sexes, strict=True)]
        (folder / "people.csv").write_text("\n".join(["age,sex", *people]) + "\n", encoding="utf-8")
        first = audit(folder)[0]
        served = [serve(folder) for _ in range(rounds)]
        audits = [audit(folder) for _ in range(rounds)]
    rows = [printed(*HEADS)]
    for label, values in (
        ("the API answers", [one[0] for one in served]),
        ("all workers are there", [one[1] for one in served]),
        ("`surebox audit` of 1,000 rows has ended, which starts the service", [one[0] for one in audits]),
        ("the next audit has ended", [one[1] for one in audits]),
    ):
        rows.append(printed(label, *(f"{one:.1f}" for one in (statistics.median(values), min(values), max(values)))))
    processes, together = processor(served)
    print(f"together: {together:.1f} CPU s; the first audit of a new folder: {first:.1f} s")
    if rounds == ROUNDS:
        figures = {"rounds": rounds, "cpu_seconds": together, "new_folder": first, "settled": SETTLED}
        record("start_up", COMMAND, figures | {"table": as_table(rows), "processes": as_table(processes)})


if __name__ == "__main__":
    main()
