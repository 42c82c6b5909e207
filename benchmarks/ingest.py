"""Seconds and peak memory of reading an upload, of the matrix, and of writing a release.

    python benchmarks/ingest.py [--rows 1000000] [--format csv ...]

Each step runs in a process of its own, reading and writing three times, the first time without compiled code in memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.recorded import as_table, printed, record  # noqa: E402

COMMAND = "python benchmarks/ingest.py"
ROWS = 1_000_000
FORMATS = ["csv", "ndjson", "parquet"]
HEADS = ("step", "file, MB", "first, s", "least, s", "CPU s each", "MB at most")


def make_file(path: Path, rows: int) -> None:
    """13 columns, about 116 bytes a row: 4 integers, 5 decimals, 3 categories, an id."""
    import polars as pl

    rng = np.random.default_rng(1)
    words = np.array(["red", "green", "blue", "a longer category, quoted"])
    frame = {f"integer_{i}": rng.integers(0, 10 ** (i + 2), rows) for i in range(4)}
    frame |= {f"number_{i}": np.round(rng.normal(size=rows) * 1000, 6) for i in range(5)}
    frame |= {f"word_{i}": words[rng.integers(0, 3 + (i == 2), rows)] for i in range(3)}
    frame["id"] = np.arange(rows)
    table = pl.DataFrame(frame)
    {".csv": table.write_csv, ".ndjson": table.write_ndjson, ".parquet": table.write_parquet}[path.suffix](path)


def peak_megabytes() -> float:
    """Peak resident memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return round(int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024, 1)


def measure_reading(path: Path, _: int) -> None:
    from app.contracts.datasets import ReadOptions
    from workers.frames.upload.read import read_upload

    loaded, seconds = peak_megabytes(), []
    ticks, used = [time.perf_counter()], time.process_time()
    for _ in range(3):
        begin = time.perf_counter()
        ticks.append(begin)
        profile = read_upload(
            path, ReadOptions(format=path.suffix[1:]), path.with_name("typed"), max_columns=2_000,
            max_field_bytes=10**6, max_bytes=10**10, tick=lambda _: ticks.append(time.perf_counter()),
        )  # fmt: skip
        seconds.append(round(time.perf_counter() - begin, 2))
    processor = round((time.process_time() - used) / 3, 2)
    gap = round(float(np.diff(ticks[len(ticks) // 3 :]).max()), 2)
    print(json.dumps({"step": "read_upload", "rows": profile.rows, "columns": len(profile.columns),
                      "bytes": path.stat().st_size, "seconds": seconds,
                      "processor_seconds": processor, "longest_without_tick": gap,
                      "imports_MB": loaded, "peak_MB": peak_megabytes()}))  # fmt: skip


def measure_matrix(path: Path, _: int) -> None:
    from workers.frames.columns import numeric_columns, take_rows

    typed, begin = path.with_name("typed"), time.perf_counter()
    table = numeric_columns(typed, [f"number_{i}" for i in range(5)] + ["id"])
    middle = time.perf_counter()
    take_rows(typed, ["word_0", "word_2", "id"], np.random.default_rng(1).permutation(len(table.values)))
    end = time.perf_counter()
    seconds = [round(middle - begin, 2), round(end - middle, 2)]
    print(json.dumps({"step": "numeric_columns (6), take_rows (3)", "seconds": seconds, "peak_MB": peak_megabytes()}))


def measure_release(path: Path, rows: int) -> None:
    import pyarrow as pa

    from workers.frames.release import write_release

    rng = np.random.default_rng(2)
    columns = {"box": rng.integers(0, rows // 5 + 1, rows)}
    for i in range(4):
        columns |= {f"c{i}_lo": rng.normal(size=rows), f"c{i}_hi": rng.normal(size=rows)}
    columns |= {
        "word": pa.array(np.array(["red", "green", "blue"])[rng.integers(0, 3, rows)]),
        "age": rng.integers(0, 99, rows),
    }
    before, seconds, used = peak_megabytes(), [], time.process_time()
    for _ in range(3):
        begin = time.perf_counter()
        files = write_release(columns, path.parent)
        seconds.append(round(time.perf_counter() - begin, 2))
    processor = round((time.process_time() - used) / 3, 2)
    print(json.dumps({"step": "write_release", "rows": rows, "columns": len(columns), "seconds": seconds,
                      "processor_seconds": processor,
                      "bytes": {name: file.bytes for name, file in files.items()},
                      "before_MB": before, "peak_MB": peak_megabytes()}))  # fmt: skip


def step(name: str, path: Path, rows: int) -> dict[str, Any]:
    """What one step has measured, in a process of its own."""
    command = [sys.executable, __file__, "--rows", str(rows), "--step", name, str(path)]
    done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout or "{}"))


def row(name: str, size: float, made: dict[str, Any]) -> list[str]:
    first, least = made["seconds"][0], min(made["seconds"])
    figures = (f"{first:.2f}", f"{least:.2f}", f"{made['processor_seconds']:.2f}", f"{made['peak_MB']:.0f}")
    return printed(name, f"{size / 1e6:.0f}", *figures)


def measured(form: str, rows: int) -> list[list[str]]:
    """Rows of one format; the release is written once, in both of its formats."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload.{form}"
        step("make", path, rows)
        read = step("read", path, rows)
        made = [row(f"reading {form}", read["bytes"], read)]
        if form == FORMATS[-1]:
            print(json.dumps(step("matrix", path, rows)))
            release = step("release", path, rows)
            name = f"writing a release ({', '.join(sorted(release['bytes']))})"
            made.append(row(name, sum(release["bytes"].values()), release))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--format", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        name, path = arguments.step[0], Path(arguments.step[1])
        steps = {"make": make_file, "read": measure_reading, "matrix": measure_matrix, "release": measure_release}
        steps[name](path, arguments.rows)
        return
    rows = [printed(*HEADS)]
    for form in arguments.format:
        rows += measured(form, arguments.rows)
    if (arguments.rows, arguments.format) == (ROWS, FORMATS):
        record("ingest", COMMAND, {"rows": ROWS, "table": as_table(rows)})


if __name__ == "__main__":
    main()
