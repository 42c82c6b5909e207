"""Boxes on real and on large tables: widths, certain ranges, means inside boxes, a whole job.

    python benchmarks/real_tables.py [means] [box_means] [tables] [rows] [job] [large] [anonypy]

`means`: boxes for the mean of hours (`unlisted_column_weight` 0.03), Adult's six numeric columns, mean widths of hours
and of the others in deviations. `box_means`: mean width of all correlations of 100,000 x 5 by `box_means`. `tables`:
diabetes130 (101,766 rows, ten columns), NIST's excerpt of the ACS, the CASC census: NCP and CPU seconds of `optimal`,
`fast` and Mondrian. `rows`: 1,000,000 x (5 numeric + 3 nominal of 2, 16 and 60 values), whole method. `job`: the same,
and its five numbers alone, over HTTP from the POST to the last byte, a service for each. `large`: 1,000,000 and
10,000,000 x 5, k = 10, widths by what `optimal` goes by and how far it looks. `anonypy`: Adult by that package, in an
environment of its own. Without a word: all but the last three. Each but the last writes its table to
benchmarks/results.

`mixed_boxes.py` measures Adult's mixed table itself.
"""

import csv
import gzip
import io
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import httpx
import numpy as np
import polars as pl
import psutil

from benchmarks.boxes import cell_width, cut, width
from benchmarks.boxes import mixture as large_mixture
from benchmarks.mixed_boxes import PARTITIONS, SHARED, SIX, adult, anonymized, lines, made_up, measured, ncp_statistics
from benchmarks.recorded import printed, record
from surebox_core.statistics import Statistic, all_moments
from tests.methods.asking import succeed, upload
from tests.servers import short_folder
from tests.service import serving
from workers.algorithms.boxes.bounds import outer_bounds
from workers.algorithms.boxes.partition.arrays import Effort
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn, NumericColumn

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/real_tables.py"
ROWS = 1_000_000
#: How far `optimal` looks: on two axes or five, as is usual for so many records, and with more cuts of small nodes.
EFFORTS = {"two": Effort(1, 1, 2), "all": Effort(1, 1, 5), "usual": None, "small": Effort(4, 32, 4)}
SEARCHED = {
    "two": "all records, two axes",
    "all": "all records, all axes",
    "usual": "samples of large nodes, four axes of small ones (usual)",
    "small": "four axes, four cuts of small nodes",
}
#: Columns of diabetes130 that are numbers, and some that are texts.
DIABETES = (
    ("time_in_hospital", "num_lab_procedures", "num_medications", "number_inpatient", "number_diagnoses"),
    ("race", "gender", "age", "insulin", "readmitted"),
)
NIST = (("AGEP", "PINCP", "POVPIP"), ("PUMA", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "EDU"))

Table: TypeAlias = tuple[np.ndarray, tuple[NominalColumn, ...]]


def show_means() -> None:
    x = np.array([[float(row[i]) for i in SIX] for row in lines()])
    deviation, hours = x.std(axis=0), SIX.index(12)
    columns = tuple(NumericColumn(step=1.0) for _ in SIX)
    domains = tuple(zip(x.min(axis=0).tolist(), x.max(axis=0).tolist(), strict=True))
    grids = tuple(replace(c, value_step=float(0.01 * (b - a))) for c, (a, b) in zip(columns, domains, strict=True))
    rows = []
    for bounds in ("cells", "grid", "tight"):
        only = (Statistic("mean", (hours,)),)
        request = BoxesRequest(5, only, bounds=bounds, domains=domains, columns=grids, unlisted_column_weight=0.03)
        outcome, seconds = anonymized(x, request)
        each = outcome.boxes.counts @ ((outcome.boxes.upper - outcome.boxes.lower) / deviation) / len(x)
        others = np.delete(each, hours).mean()
        rows.append(printed(f"`{bounds}`", f"{each[hours]:.3f}", f"{others:.3f}", f"{seconds:.2f}"))
    record_table("means", ["`bounds`", "hours", "other columns", "CPU s"], rows)


def record_table(part: str, heads: list[str], rows: list[list[str]], **figures: object) -> None:
    """Write the table of a part, with figures that sentences quote."""
    record(f"real_{part}", f"{COMMAND} {part}", {"table": {"heads": heads, "rows": rows}, **figures})


def show_box_means() -> None:
    x = runpy.run_path(str(SHARED.parent / "bench" / "gaussian_mixture.py"))["records"]()[:100_000]
    rows, mean = [], {}
    for box_means in ("none", "rounded", "exact"):
        outcome, seconds = anonymized(x, BoxesRequest(5, all_moments(5), box_means=box_means))
        widths = [
            part.guaranteed.width
            for one in outcome.certificates
            if one.statistic.kind == "correlation"
            for part in one.published
            if part.guaranteed
        ]
        mean[box_means] = float(np.mean(widths))
        rows.append(printed(f"`{box_means}`", f"{mean[box_means]:.3f}", f"{seconds:.1f}"))
    record_table("box_means", ["`box_means`", "mean width of correlations", "CPU s"], rows, mean=mean)


def read(rows: Iterable[dict[str, str]], names: tuple[tuple[str, ...], tuple[str, ...]]) -> Table:
    """Numbers and codes of the rows that have all numbers; a missing text is a value."""
    kept = [row for row in rows if all(row[name] not in {"", "?", "N"} for name in names[0])]
    x = np.array([[float(row[name]) for name in names[0]] for row in kept])
    nominal = []
    for name in names[1]:
        values, codes = np.unique([row[name] for row in kept], return_inverse=True)
        nominal.append(NominalColumn(codes.astype(np.int32), len(values)))
    return x, tuple(nominal)


def tables() -> dict[str, Table]:
    with zipfile.ZipFile(SHARED / "diabetes130" / "dataset_diabetes.zip") as archive:
        text = archive.read("dataset_diabetes/diabetic_data.csv").decode()
    by_name = {"diabetes130": read(csv.DictReader(io.StringIO(text)), DIABETES)}
    text = gzip.decompress((SHARED / "nist_acs2019" / "national2019.csv.gz").read_bytes()).decode()
    by_name["NIST ACS"] = read(csv.DictReader(io.StringIO(text)), NIST)
    census = np.loadtxt(SHARED / "sdc" / "CASCrefmicrodata.csv", delimiter=",", skiprows=1)
    return by_name | {"CASC": (census, ())}


def show_tables() -> None:
    rows = []
    for name, (x, nominal) in tables().items():
        whole = (x == np.rint(x)).all(axis=0)
        columns = tuple(NumericColumn(step=1.0 if each else None) for each in whole)
        base = BoxesRequest(5, ncp_statistics(x, nominal), bounds="tight", nominal=nominal, columns=columns)
        for k in (5, 10):
            made = [measured(x, replace(base, k=k, partition=partition))[1] for partition in PARTITIONS]
            size = f"{len(x):,} x ({x.shape[1]} + {len(nominal)})" if nominal else f"{len(x):,} x {x.shape[1]}"
            cells = (f"{one['ncp']:.4f} ({one['seconds']:.1f})" for one in made)
            rows.append(printed(f"{name}, {size}", str(k), *cells))
    record_table("tables", ["table", "k", *PARTITIONS], rows)


def show_rows() -> None:
    x, nominal = made_up(ROWS)
    few = tuple(replace(column, codes=column.codes[:9000]) for column in nominal)
    rows, figures = [], {}
    for partition in PARTITIONS[:2]:
        request = BoxesRequest(10, ncp_statistics(x, nominal), partition=partition, bounds="tight", nominal=nominal)
        anonymized(x[:9000], replace(request, nominal=few))
        outcome, one = measured(x, request)
        figures[partition] = one
        cells = f"{len(outcome.boxes.counts):,}", f"{one['ncp']:.4f}", f"{one['seconds']:.1f}"
        rows.append(printed(f"`{partition}`", *cells))
    record_table("rows", ["partition", "boxes", "NCP", "CPU s"], rows, by_partition=figures)


def frames() -> dict[str, pl.DataFrame]:
    x, nominal = made_up(ROWS)
    numbers = pl.DataFrame({f"x{i}": x[:, i] for i in range(5)})
    mixed = (pl.Series(f"c{j}", column.codes).cast(pl.String) for j, column in enumerate(nominal))
    return {f"{ROWS:,} x 5": numbers, f"{ROWS:,} x (5 + 3)": numbers.with_columns(mixed)}


def largest_process() -> float:
    """Most memory that a process of the service ever had, in GB: a worker's."""
    peaks = []
    for process in psutil.Process().children(recursive=True):
        status = Path(f"/proc/{process.pid}/status")
        peaks += [int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return max(peaks) * 1024 / 1e9


def show_job() -> None:
    """Kernels are those of the installation, and the first job of each kind is not measured."""
    rows, figures = [], {}
    for name, frame in frames().items():
        for partition in ("fast", "optimal"):
            with short_folder() as folder, serving(folder / "data") as service, service.client() as client:
                job, whole = timed_job(client, frame, partition)
                memory = largest_process()
            rows.append(printed(name, f"`{partition}`", f"{job:.1f}", f"{whole:.1f}", f"{memory:.2f}"))
            figures[f"{partition}_{frame.width}"] = {"job": job, "whole": whole, "memory": memory}
    heads = ["table", "partition", "job, s", "with three downloads, s", "largest process, GB"]
    record_table("job", heads, rows, by_table=figures)


def timed_job(client: httpx.Client, frame: pl.DataFrame, partition: str) -> tuple[float, float]:
    """Seconds from the POST to the end of the job, and to the last byte of the release in three formats."""
    few = upload(client, frame.head(20_000).write_csv())["id"]
    held = io.BytesIO()
    frame.write_parquet(held)
    kind = {"Content-Type": "application/vnd.apache.parquet"}
    answer = client.post("/v1/datasets?name=rows", content=held.getvalue(), headers=kind, timeout=300)
    spec = {"method": "boxes", "quasi_identifiers": frame.columns, "k": 10, "partition": partition,
            "accept_findings": ["composition"]}  # fmt: skip
    succeed(client, spec | {"dataset_id": few})
    began = time.monotonic()
    job = succeed(client, spec | {"dataset_id": answer.json()["id"]})
    ended = time.monotonic()
    for form in ("parquet", "csv", "ndjson"):
        client.get(f"/v1/releases/{job['release_id']}/data", params={"format": form}).raise_for_status()
    return ended - began, time.monotonic() - began


def show_large() -> None:
    rows, figures = [], {}
    for size in (1_000_000, 10_000_000):
        x = large_mixture(size)
        outer = np.array(outer_bounds(x, (None,) * x.shape[1]))
        for name, effort in EFFORTS.items():
            if size > 1_000_000 and name == "small":
                continue
            by_records, seconds, _ = cut(x, 10, "optimal", effort=effort)
            by_cells, cell_seconds, longest = cut(x, 10, "optimal", effort=effort, cell=outer)
            widths = {
                "records": cell_width(x, by_records),
                "tight": width(x, by_records),
                "cells": cell_width(x, by_cells),
                "tight_by_cells": width(x, by_cells),
            }
            figures[f"{name}_{size}"] = widths | {"longest": longest, "seconds": seconds}
            first, *others = (f"{each:.5f}" for each in widths.values())
            cells = first, others[0], f"{seconds:.1f}", *others[1:], f"{cell_seconds:.1f}"
            rows.append(printed(f"{size:,}", SEARCHED[name], *cells))
        least, most = figures[f"all_{size}"]["cells"], figures[f"two_{size}"]["records"]
        figures[f"relative_{size}"] = {"cells": least / most}
    heads = ["records", "search", "by records: `cells`", "`tight`", "CPU s", "by cells: `cells`", "`tight`", "CPU s"]
    record_table("large", heads, rows, widths=figures)


def show_anonypy() -> None:
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    x, nominal = adult()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.npz"
        sizes = np.array([column.values for column in nominal])
        np.savez(table, x=x, codes=np.column_stack([column.codes for column in nominal]), sizes=sizes)
        python = Path(folder) / "env" / "bin" / "python"
        subprocess.run([uv, "venv", "--python", sys.executable, python.parents[1]], check=True, capture_output=True)
        subprocess.run(
            [uv, "pip", "install", "--python", python, "anonypy", "pandas<3"], check=True, capture_output=True
        )
        subprocess.run([python, Path(__file__).parent / "beside" / "anonypy_mondrian.py", table], check=True)


SHOWN = {
    "means": show_means,
    "box_means": show_box_means,
    "tables": show_tables,
    "rows": show_rows,
    "job": show_job,
    "large": show_large,
    "anonypy": show_anonypy,
}

if __name__ == "__main__":
    for word in sys.argv[1:] or list(SHOWN)[:4]:
        SHOWN[word]()
