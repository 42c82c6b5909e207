"""All audits on real microdata: what they show before and after `boxes`; prints Markdown.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/audits.py [adult] [nist] [diabetes130] [tax] [--records 3]

From `../shared/data`; no value of a cell is printed. Of each file: the audit `table` on it as it is and on its box
release (k = 5, numeric columns, a column kept), `determination`, and `influence` of the `--records` most extreme
records.
Of Adult also `composition` of five box releases, and `linkage` of boxes and an uncertain release, alone and jointly.
"""

import argparse
import io
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.recorded import record  # noqa: E402
from tests.methods.in_process import Bench  # noqa: E402
from workers.engine.registry import runner_for  # noqa: E402

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/audits.py"
DATA = ROOT.parent / "shared" / "data"
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A file: how it is read, by what records are known, what is anonymized, and what is sensitive."""

    read: Callable[[], pl.DataFrame]
    known: tuple[str, ...]
    columns: tuple[str, ...]
    sensitive: str
    besides: tuple[str, ...] = ()


def adult() -> pl.DataFrame:
    text = pl.read_csv(
        DATA / "adult" / "adult.data.gz",
        has_header=False,
        new_columns=ADULT,
        infer_schema=False,
        null_values=["?", " ?"],
    ).with_columns(pl.all().str.strip_chars().replace({"?": None}))
    whole = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    return text.filter(pl.col("age").is_not_null()).with_columns(pl.col(whole).cast(pl.Int64))


def nist() -> pl.DataFrame:
    return pl.read_csv(DATA / "nist_acs2019" / "national2019.csv.gz", null_values=["N"], infer_schema_length=None)


def diabetes() -> pl.DataFrame:
    with zipfile.ZipFile(DATA / "diabetes130" / "dataset_diabetes.zip") as packed:
        held = packed.read("dataset_diabetes/diabetic_data.csv")
    return pl.read_csv(io.BytesIO(held), null_values=["?"], infer_schema_length=None)


def tax() -> pl.DataFrame:
    frame = pl.read_parquet(DATA / "tax" / "sample_file_0910.parquet")
    whole = [name for name, kind in frame.schema.items() if kind.is_integer()]
    return frame.with_columns(pl.col(whole).cast(pl.Int64))


SOURCES = {
    "adult": Source(
        adult,
        ("age", "education", "sex", "race", "native-country", "hours-per-week"),
        ("age", "education-num", "hours-per-week"),
        "income",
        ("fnlwgt", "capital-gain", "capital-loss"),
    ),
    "nist": Source(nist, ("AGEP", "SEX", "MSP", "RAC1P", "EDU", "PUMA"), ("AGEP", "EDU", "DENSITY"), "DREM"),
    "diabetes130": Source(
        diabetes,
        ("race", "gender", "age", "time_in_hospital", "number_inpatient", "number_diagnoses"),
        ("time_in_hospital", "num_lab_procedures", "num_medications"),
        "readmitted",
    ),
    "tax": Source(
        tax,
        ("Gender", "age_range", "Occ_code", "Partner_status", "Region", "Lodgment_method"),
        ("Sw_amt", "Tot_inc_amt", "Taxable_Income"),
        "PHI_Ind",
    ),
}


#: The release of boxes, next to its audits.
RELEASE = "(the release itself)"
RECORDS = 3
#: What was measured, by file, audit and figure; documents quote it (benchmarks/recorded.py).
MEASURED: dict[str, dict[str, dict[str, Any]]] = {}


def say(name: str, audit: str, figures: dict[str, Any], begun: float) -> None:
    """Print what one audit shows, and keep it with its CPU seconds."""
    text = "; ".join(f"{what} {value:.4g}" for what, value in figures.items() if value is not None)
    print(f"| {name} | {audit} | {text} | {time.process_time() - begun:.1f} |", flush=True)
    own = MEASURED.setdefault(slug(name), {}).setdefault(slug(audit), {})
    own.update({slug(what): value for what, value in figures.items()})
    own["cpu_seconds"] = time.process_time() - begun


def slug(words: str) -> str:
    """Words as a name that documents quote."""
    return re.sub(r"\W+", "_", words).strip("_").lower()


def table(
    bench: Bench, name: str, audit: str, microfile: dict[str, Any], source: Source, known: tuple[str, ...]
) -> None:
    begun = time.process_time()
    body = {"method": "table", "quasi_identifiers": list(known), "sensitive": [source.sensitive]}
    made = bench.run(body | microfile).result
    kept, risk = made["sensitive"][0], made["risk"]["prosecutor"]
    figures = {
        "k": made["k"],
        "unique": made["unique"] / made["records"],
        "risk above 0.2": risk["share_above"],
        "least values": kept["l_diversity"]["distinct"],
        "t": kept["t_closeness"]["value"],
        "one value certain": kept["share_certain"],
    }
    say(name, audit, figures, begun)


def audited(name: str, source: Source, records: int) -> None:
    """One file before and after."""
    with tempfile.TemporaryDirectory() as folder:
        bench, frame = Bench(Path(folder)), source.read()
        used = list(dict.fromkeys((*source.known, *source.columns, source.sensitive, *source.besides)))
        bench.dataset(
            "data", frame.select(one for one in used if one in frame.columns).drop_nulls(list(source.columns))
        )
        table(bench, name, "table, as it is", {"dataset_id": "data"}, source, source.known)
        boxes = {"method": "boxes", "dataset_id": "data", "quasi_identifiers": list(source.columns), "k": 5,
                 "statistics": [{"kind": "mean", "of": [one]} for one in source.columns], "formats": ["parquet"],
                 "keep": [source.sensitive]}  # fmt: skip
        begun = time.process_time()
        bench.release("boxes", boxes)
        say(name, RELEASE, {"rows": bench.releases["boxes"].rows}, begun)
        table(bench, name, "table, boxes with k = 5", {"release_id": "boxes"}, source, source.columns)
        determination(bench, name, "determination", "boxes")
        begun = time.process_time()
        result = bench.run({"method": "influence", "release_ids": ["boxes"], "records": records}).result
        slopes = [part["slope"] for part in result["releases"][0]["numbers"]]
        figures = {
            "numbers that follow one at 0.5 or more": sum(one >= 0.5 for one in slopes),
            "largest slope": max(slopes, default=0.0),
            "findings": len(result["findings"]),
        }
        say(name, f"influence of {records} records", figures, begun)
        own = MEASURED[slug(name)]
        seconds = sum(figures["cpu_seconds"] for audit, figures in own.items() if audit != slug(RELEASE))
        own["all_of_them"] = {"cpu_seconds": seconds}
        if name == "adult":
            together(bench, boxes)


def determination(bench: Bench, name: str, audit: str, release: str) -> None:
    begun = time.process_time()
    one = bench.run({"method": "determination", "release_ids": [release]}).result["releases"][0]
    figures = {f"{part['column']} single value": part["share_single_value"] for part in one["columns"]}
    kept = one["kept_columns"][0]
    figures |= {f"{kept['column']} certain": kept["share_certain"], "nearly": kept["share_nearly_certain"]}
    say(name, audit, figures, begun)


def composition(bench: Bench, names: list[str], **more: Any) -> None:
    begun = time.process_time()
    made = bench.run({"method": "composition", "release_ids": names, "sensitive": ["income"]} | more).result
    figures = {"overlay below 5": made["overlay_below"], "candidates below 5": made["candidates_below"],
               "one income": made["sensitive"][0]["homogeneous"] if made["sensitive"] else None,
               "expected": made["expected"], "expected below": made["expected_below"]}  # fmt: skip
    say("adult", f"composition of {' and '.join(names)}", figures, begun)


def together(bench: Bench, boxes: dict[str, Any]) -> None:
    """Several releases of Adult."""
    bench.release("twenty", boxes | {"k": 20})
    determination(bench, "adult", "determination, k = 20", "twenty")
    spreads = [{"kind": "variance", "of": [one]} for one in boxes["quasi_identifiers"]]
    others = {
        "6": {"k": 6}, "10": {"k": 10, "statistics": spreads}, "two": {"quasi_identifiers": ["age", "hours-per-week"],
        "statistics": boxes["statistics"][::2]}, "other": {"k": 7, "partition": "fast"},
    }  # fmt: skip
    for seed, (name, other) in enumerate(others.items(), 1):
        bench.release(name, boxes | other, seed=seed)
    for names in (["boxes", "6"], ["boxes", "10"], ["boxes", "two"], ["boxes", *others]):
        composition(bench, names)
    ten = {"dataset_id": "data", "quasi_identifiers": boxes["quasi_identifiers"], "k": 10, "formats": ["parquet"]}
    bench.release("ten", ten | {"method": "boxes", "statistics": boxes["statistics"]})
    bench.release("noise", ten | {"method": "uncertain"})
    six = {
        "quasi_identifiers": [name for name in ADULT if bench_type(bench, name) == "integer"],
        "keep": ["income", "sex", "race"],
    }
    bench.release("ten6", ten | six | {"method": "boxes", "statistics": boxes["statistics"]})
    bench.release("noise6", ten | six | {"method": "uncertain"})
    bench.release("all6", boxes | six)
    bench.release("all6 with 6", boxes | six | {"k": 6}, seed=1)
    composition(bench, ["all6", "all6 with 6"])
    composition(bench, ["ten", "noise"], sensitive=[])
    for names in (["ten"], ["noise"], ["ten", "noise"], ["ten6"], ["noise6"], ["ten6", "noise6"]):
        begun = time.process_time()
        made = bench.run({"method": "linkage", "release_ids": names}).result
        figures = {"share below k = 10": made["share_below_k"], "mean rank": made["mean_rank"],
                   "rank 1": made["share_rank_1"], "posterior above one half": made["share_posterior_above_half"],
                   "of these right": made["precision_above_half"]}  # fmt: skip
        say("adult", f"linkage, {' and '.join(names)}", figures, begun)


def bench_type(bench: Bench, name: str) -> str | None:
    return next((str(one.type) for one in bench.datasets["data"].columns if one.name == name), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", default=list(SOURCES))
    parser.add_argument("--records", type=int, default=RECORDS)
    args = parser.parse_args()
    for method in ("boxes", "uncertain", "table", "composition", "linkage"):
        getattr(runner_for(method), "warm", lambda: None)()
    print("| file | audit | figures | CPU s |\n|---|---|---|---|")
    for name in args.files:
        audited(name, SOURCES[name], args.records)
        if args.records == RECORDS:
            record(f"audits_{name}", f"{COMMAND} {name}", MEASURED[slug(name)])


if __name__ == "__main__":
    main()
