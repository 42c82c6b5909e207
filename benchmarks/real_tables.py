"""Boxes on real tables, side by side: widths, certain ranges, means inside boxes, large tables, a whole job.

    python benchmarks/real_tables.py [means] [box_means] [tables] [rows] [job] [large] [anonypy]

`means`: boxes for the mean of hours (`unlisted_column_weight` 0.03), Adult's six numeric columns, mean widths of hours
and of the others in deviations. `box_means`: mean width of all correlations of 100,000 x 5 by `box_means`. `tables`:
diabetes130 (101,766 rows, ten columns), NIST's excerpt of the ACS, the CASC census: NCP and CPU seconds of `optimal`,
`fast` and Mondrian. `rows`: 1,000,000 x (5 numeric + 3 nominal of 2, 16 and 60 values), whole method. `job`: the same
over HTTP, from the POST to the last byte. `large`: 10,000,000 x 5, k = 10, privacy uncertainty by what `optimal` goes
by and how far it looks. `anonypy`: Adult by that package, in an environment of its own. Without a word: all but the
last three.

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

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from boxes import cell_width, cut, width
from boxes import mixture as large_mixture
from mixed_boxes import SHARED, SIX, adult, anonymized, lines, made_up, ncp, ncp_statistics

from surebox_core.statistics import Statistic, all_moments
from workers.algorithms.boxes.bounds import outer_bounds
from workers.algorithms.boxes.partition.arrays import Effort
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn, NumericColumn

#: Columns of diabetes130 that are numbers, and some that are texts.
DIABETES = (
    ("time_in_hospital", "num_lab_procedures", "num_medications", "number_inpatient", "number_diagnoses"),
    ("race", "gender", "age", "insulin", "readmitted"),
)
NIST = (("AGEP", "PINCP", "POVPIP"), ("PUMA", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "EDU"))


def show_means() -> None:
    x = np.array([[float(row[i]) for i in SIX] for row in lines()])
    deviation = x.std(axis=0)
    hours = SIX.index(12)
    columns = tuple(NumericColumn(step=1.0) for _ in SIX)
    for bounds in ("cells", "grid", "tight"):
        domains = tuple(zip(x.min(axis=0).tolist(), x.max(axis=0).tolist(), strict=True))
        grids = tuple(replace(c, value_step=float(0.01 * (b - a))) for c, (a, b) in zip(columns, domains, strict=True))
        only = (Statistic("mean", (hours,)),)
        request = BoxesRequest(5, only, bounds=bounds, domains=domains, columns=grids, unlisted_column_weight=0.03)
        outcome, seconds = anonymized(x, request)
        each = outcome.boxes.counts @ ((outcome.boxes.upper - outcome.boxes.lower) / deviation) / len(x)
        others = np.delete(each, hours).mean()
        said = f"hours {each[hours]:.3f} sd, others {others:.3f} sd, {seconds:.2f} CPU s"
        print(f"boxes for the mean of hours, {bounds}: {said}")


def show_box_means() -> None:
    x = runpy.run_path(str(SHARED.parent / "bench" / "gaussian_mixture.py"))["records"]()[:100_000]
    for box_means in ("none", "rounded", "exact"):
        outcome, seconds = anonymized(x, BoxesRequest(5, all_moments(5), box_means=box_means))
        widths = [
            part.guaranteed.width
            for one in outcome.certificates
            if one.statistic.kind == "correlation"
            for part in one.published
            if part.guaranteed
        ]
        said = f"correlations' mean width {np.mean(widths):.3f}, {seconds:.1f} CPU s"
        print(f"gm100k, k = 5, means {box_means}: {said}", flush=True)


def read(rows: Iterable[dict[str, str]], names: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple:
    """Numbers and codes of the rows that have all numbers; a missing text is a value."""
    kept = [row for row in rows if all(row[name] not in {"", "?", "N"} for name in names[0])]
    x = np.array([[float(row[name]) for name in names[0]] for row in kept])
    nominal = []
    for name in names[1]:
        values, codes = np.unique([row[name] for row in kept], return_inverse=True)
        nominal.append(NominalColumn(codes.astype(np.int32), len(values)))
    return x, tuple(nominal)


def tables() -> dict[str, tuple]:
    with zipfile.ZipFile(SHARED / "diabetes130" / "dataset_diabetes.zip") as archive:
        text = archive.read("dataset_diabetes/diabetic_data.csv").decode()
    by_name = {"diabetes130": read(csv.DictReader(io.StringIO(text)), DIABETES)}
    text = gzip.decompress((SHARED / "nist_acs2019" / "national2019.csv.gz").read_bytes()).decode()
    by_name["NIST ACS"] = read(csv.DictReader(io.StringIO(text)), NIST)
    census = np.loadtxt(SHARED / "sdc" / "CASCrefmicrodata.csv", delimiter=",", skiprows=1)
    return by_name | {"CASC": (census, ())}


def show_tables() -> None:
    for name, (x, nominal) in tables().items():
        extent = np.ptp(x, axis=0)
        columns = tuple(
            NumericColumn(step=1.0 if (x[:, i] == np.rint(x[:, i])).all() else None) for i in range(x.shape[1])
        )
        for k in (5, 10):
            said = []
            for partition in ("optimal", "fast", "mondrian"):
                request = BoxesRequest(
                    k, ncp_statistics(x, nominal), partition=partition, bounds="tight", nominal=nominal, columns=columns
                )
                outcome, seconds = anonymized(x, request)
                said.append(f"{partition} {ncp(outcome.boxes, extent):.4f} ({seconds:.1f} CPU s)")
            print(f"{name}, {len(x):,} x ({x.shape[1]} + {len(nominal)}), k = {k:2}: {', '.join(said)}", flush=True)


def show_rows() -> None:
    x, nominal = made_up(1_000_000)
    few = tuple(replace(column, codes=column.codes[:9000]) for column in nominal)
    for partition in ("fast", "optimal"):
        request = BoxesRequest(10, ncp_statistics(x, nominal), partition=partition, bounds="tight", nominal=nominal)
        anonymized(x[:9000], replace(request, nominal=few))
        outcome, seconds = anonymized(x, request)
        said = f"{len(outcome.boxes.counts)} boxes, NCP {ncp(outcome.boxes, np.ptp(x, axis=0)):.4f}"
        print(f"1,000,000 x (5 + 3), k = 10, {partition}: {said}, whole method {seconds:.1f} CPU s", flush=True)


def show_job() -> None:
    """Kernels are those of the installation, and the first job of each kind is not measured."""
    import polars as pl

    from tests.methods.asking import succeed, upload
    from tests.servers import short_folder
    from tests.service import serving

    x, nominal = made_up(1_000_000)
    frame = pl.DataFrame({f"x{i}": x[:, i] for i in range(5)})
    frame = frame.with_columns(pl.Series(f"c{j}", column.codes).cast(pl.String) for j, column in enumerate(nominal))
    with short_folder() as folder, serving(folder / "data") as service, service.client() as client:
        few = upload(client, frame.head(20_000).write_csv())["id"]
        held = io.BytesIO()
        frame.write_parquet(held)
        kind = {"Content-Type": "application/vnd.apache.parquet"}
        answer = client.post("/v1/datasets?name=rows", content=held.getvalue(), headers=kind, timeout=300)
        for partition in ("fast", "optimal"):
            spec = {"method": "boxes", "quasi_identifiers": frame.columns, "k": 10, "partition": partition,
                    "accept_findings": ["composition"]}  # fmt: skip
            succeed(client, spec | {"dataset_id": few})
            began = time.monotonic()
            job = succeed(client, spec | {"dataset_id": answer.json()["id"]})
            ended = time.monotonic() - began
            for kept in ("parquet", "csv", "ndjson"):
                client.get(f"/v1/releases/{job['release_id']}/data", params={"format": kept}).raise_for_status()
            whole = time.monotonic() - began
            print(
                f"1,000,000 x (5 + 3) over HTTP, {partition}: job {ended:.1f} s, with downloads {whole:.1f} s",
                flush=True,
            )


def show_large() -> None:
    x = large_mixture(10_000_000)
    outer = np.array(outer_bounds(x, (None,) * x.shape[1]))
    widths: list[float] = []
    for words, cell, effort in (
        ("by records, two axes", None, Effort(1, 1, 2)),
        ("by records, all axes", None, Effort(1, 1, 5)),
        ("by cells, two axes", outer, Effort(1, 1, 2)),
        ("by cells, all axes", outer, Effort(1, 1, 5)),
    ):
        made, seconds, longest = cut(x, 10, "optimal", effort=effort, cell=cell)
        widths.append(cell_width(x, made))
        said = f"mean width of cells {widths[-1]:.5f} ({widths[-1] / widths[0]:.3f}), tight {width(x, made):.5f}"
        print(f"10,000,000 x 5, k = 10, {words}: {said}, {seconds:.0f} CPU s (longest step {longest:.2f})", flush=True)


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
