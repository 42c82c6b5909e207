"""Measure how often the same people are recognised, and how often other people are taken for the same.

    python benchmarks/recognition.py [independent|rewritten|http|uploads|limits|cost ...] [--pairs 30000] [--seed 1]

`independent`: pairs of tables without a person in common, of thirteen kinds, 100 to 100,000 rows, from real microdata,
by the deciding function. `rewritten`: pairs of tables of the same people, of thirteen rewritings. `http`: 300 of the
first kind uploaded, released and published, each pair by a new owner; `uploads`: 40 of the second, uploaded. `limits`:
20 pairs of the same people of each kind that the evidence cannot tell from other people. `cost`: bytes of a sketch, and
seconds of making it and of a comparison. Without a word: `independent`, `rewritten` and `cost`.
Each writes its table to benchmarks/results. Every draw is new with another seed. Interrupted, it records the pairs that
it has compared.
"""

import argparse
import contextlib
import gzip
import io
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import numpy as np
import polars as pl

from benchmarks.recorded import as_table, printed, record
from tests.methods.asking import succeed, upload
from tests.people import INDEPENDENT, REWRITTEN, Drawn, Pair, table_of
from tests.servers import short_folder
from tests.service import serving
from workers.algorithms.tables.recognition import Sameness, compared
from workers.algorithms.tables.sketches import Kind
from workers.frames.sketched import packed

COMMAND = "OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/recognition.py"
SHARED = Path(__file__).parents[2] / "shared" / "data"
STATES = ("11", "25", "36", "37", "48")
#: Electric utilities with several records each: a part by another column and the others have utilities in common.
PANELS = ("eia",)
#: Of so many pairs one is of large tables.
LARGE = 60
ADULT = "age workclass fnlwgt education years marital occupation relationship race sex gain loss hours country income"


def csv(body: bytes, **options: object) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(body), infer_schema_length=None, **options)  # type: ignore[arg-type]


def tables() -> dict[str, pl.DataFrame]:
    """Real microdata by name; states and years begin with the same word."""
    adult = gzip.decompress((SHARED / "adult" / "adult.data.gz").read_bytes()).replace(b", ", b",").rstrip()
    made = {"adult": csv(adult, has_header=False, new_columns=ADULT.split(), null_values="?")}
    made["nist"] = csv(gzip.decompress((SHARED / "nist_acs2019" / "national2019.csv.gz").read_bytes()))
    made["housing"] = csv(gzip.decompress((SHARED / "housing" / "housing.csv.gz").read_bytes()))
    for name in ("CASCrefmicrodata", "Tarragona", "EIA", "testdata"):
        made[name.lower()] = csv((SHARED / "sdc" / f"{name}.csv").read_bytes())
    with zipfile.ZipFile(SHARED / "diabetes130" / "dataset_diabetes.zip") as archive:
        made["diabetes"] = csv(archive.read("dataset_diabetes/diabetic_data.csv"), null_values="?")
    for year in ("0910", "1011"):
        made[f"tax {year}"] = pl.read_parquet(SHARED / "tax" / f"sample_file_{year}.parquet")
    for state in STATES:
        if (path := SHARED / "acs2024" / f"p_{state}.parquet").exists():
            made[f"acs {state}"] = pl.read_parquet(path)
    return made


def pair(make: Callable[[Drawn], Pair], drawn: Drawn, *, large: bool) -> Pair:
    drawn.most = 100_000 if large else 1500
    one, other = make(drawn)
    return (one, other) if drawn.draw.random() < 0.5 else (other, one)


def show_pairs(part: str, kinds: Mapping[str, Callable[[Drawn], Pair]], pairs: int, seed: int) -> None:
    draw = np.random.default_rng([len(part), seed])
    drawn = Drawn(draw, tables(), alike=("tax", "acs"), panels=PANELS)
    verdicts = {kind: Counter[Sameness]() for kind in kinds}
    bits: dict[str, list[float]] = {kind: [] for kind in kinds}
    with contextlib.suppress(KeyboardInterrupt):
        for number in range(pairs):
            kind = list(kinds)[number % len(kinds)]
            one, other = pair(kinds[kind], drawn, large=number // len(kinds) % LARGE == 0)
            agreement = compared(table_of(other), table_of(one).sketch, tables=1)
            verdicts[kind][agreement.sameness] += 1
            bits[kind].append(agreement.bits)
    pairs = sum(one.total() for one in verdicts.values())
    extreme = max if part == "independent" else min
    rows = [
        printed(
            kind, f"{verdicts[kind].total():,}", *(f"{verdicts[kind][one]:,}" for one in Sameness),
            f"{np.median(bits[kind]):.0f}", f"{extreme(bits[kind]):.1f}",
        )
        for kind in kinds
    ]  # fmt: skip
    total = sum((verdicts[kind] for kind in kinds), Counter[Sameness]())
    heads = [
        part,
        "pairs",
        "same",
        "asked about",
        "other",
        "median bits",
        "greatest" if part == "independent" else "least",
    ]
    figures = {one.value: total[one] for one in Sameness} | {"pairs": pairs, "seed": seed}
    record(f"recognition_{part}", f"{COMMAND} {part} --pairs {pairs} --seed {seed}", figures | {
        "table": as_table([heads, *rows]), "alarms": 1 - total[Sameness.OTHER] / pairs,
        "extreme_bits": extreme(x for values in bits.values() for x in values),
    })  # fmt: skip


def show_http(pairs: int, seed: int) -> None:
    """Pairs of independent tables, each by a new owner: both releases are published, or one is a draft."""
    drawn = Drawn(np.random.default_rng([9, seed]), tables(), most=1500, alike=("tax", "acs"), panels=PANELS)
    states: dict[str, Counter[str]] = {kind: Counter() for kind in INDEPENDENT}
    with short_folder() as folder, serving(folder / "data") as service, contextlib.suppress(KeyboardInterrupt):
        for number in range(pairs):
            kind = list(INDEPENDENT)[number % len(INDEPENDENT)]
            with service.client(owner=f"pair {number}") as client:
                states[kind][released(client, INDEPENDENT[kind](drawn))] += 1
    pairs = sum(one.total() for one in states.values())
    heads = ["independent, over HTTP", "pairs", "both published", "a question", "composed", "not released"]
    rows = [
        printed(kind, str(one.total()), *(str(one[x]) for x in ("published", "recognition", "composition", "none")))
        for kind, one in states.items()
    ]
    total = sum(states.values(), Counter[str]())
    record("recognition_http", f"{COMMAND} http --pairs {pairs} --seed {seed}", {
        "table": as_table([heads, *rows]), "pairs": pairs, "seed": seed, "published": total["published"],
        "alarms": total["recognition"] + total["composition"],
    })  # fmt: skip


def show_uploads(pairs: int, seed: int) -> None:
    """Pairs of the same people, each uploaded by a new owner: one family, or a question."""
    drawn = Drawn(np.random.default_rng([10, seed]), tables(), most=1500, alike=("tax", "acs"), panels=PANELS)
    verdicts: Counter[str] = Counter()
    with short_folder() as folder, serving(folder / "data") as service, contextlib.suppress(KeyboardInterrupt):
        for number in range(pairs):
            with service.client(owner=f"pair {number}") as client:
                frames = list(REWRITTEN.values())[number % len(REWRITTEN)](drawn)
                one, other = (upload(client, frame.write_csv())["family_id"] for frame in frames)
                questions = client.get(f"/v1/families/{other}").json()["questions"]
                verdicts["same" if one == other else "asked" if questions else "other"] += 1
    figures = {name: verdicts[name] for name in ("same", "asked", "other")}
    figures |= {"pairs": verdicts.total(), "seed": seed}
    record("recognition_uploads", f"{COMMAND} uploads --pairs {pairs} --seed {seed}", figures)


def released(client: httpx.Client, frames: Pair) -> str:
    """Release two numeric or any columns of both; what became of the second."""
    for frame in frames:
        dataset = upload(client, frame.write_csv())
        usable = [one["name"] for one in dataset["columns"] if one["type"] in {"number", "integer"}]
        if not usable:
            return "none"
        spec = {"method": "boxes", "dataset_id": dataset["id"], "k": 5, "quasi_identifiers": usable[:3]}
        job = succeed(
            client, spec | {"missing_policy": "pattern", "max_suppressed": 1.0, "max_suppressed_classes": 0.99}
        )
    state = client.get(f"/v1/releases/{job['release_id']}").json()["state"]
    return "published" if state == "published" else str(job["findings"][0]["audit"])


def visits_of(draw: np.random.Generator, ids: np.ndarray, each: int) -> pl.DataFrame:
    """Records of persons, about so many of each, with values that are drawn anew."""
    column = np.repeat(ids, 1 if each == 1 else draw.poisson(each - 1, len(ids)) + 1)
    rows = len(column)
    values = {"a": draw.normal(50, 9, rows).round(), "b": draw.poisson(3, rows), "c": draw.choice(list("xxxyyz"), rows)}
    return pl.DataFrame({"id": column, **values})


def design(draw: np.random.Generator) -> pl.DataFrame:
    """A table all of whose columns have each value equally often, in any order."""
    rows = 40 * int(draw.integers(10, 60))
    return pl.DataFrame({name: draw.permutation(rows) % size for name, size in (("g", 4), ("h", 10), ("i", 5))})


def show_limits(pairs: int, seed: int) -> None:
    """Pairs of the same people of which nothing is left but ids, or of which all columns are even."""
    draw = np.random.default_rng([11, seed])
    verdicts: dict[str, Counter[Sameness]] = {}
    for name, size in (("ids at random", 10**9), ("ids in turn", 0)):
        for each in (1, 3, 10):
            made = verdicts.setdefault(f"{name}, {each} records each", Counter())
            for _ in range(pairs):
                persons = int(np.exp(draw.uniform(np.log(80), np.log(2000))))
                ids = draw.choice(size, persons, replace=False) if size else np.arange(1, persons + 1)
                left = np.sort(draw.permutation(persons)[: 97 * persons // 100])
                one, other = visits_of(draw, ids, each), visits_of(draw, ids[left], each)
                made[compared(table_of(other), table_of(one).sketch, tables=1).sameness] += 1
    frames = [design(draw) for _ in range(pairs)]
    verdicts["even columns, a row less"] = Counter(
        compared(table_of(one[1:]), table_of(one).sketch, tables=1).sameness for one in frames
    )
    rows = [printed(kind, str(pairs), *(str(one[x]) for x in Sameness)) for kind, one in verdicts.items()]
    figures = {"pairs": pairs, "seed": seed, "even": verdicts["even columns, a row less"][Sameness.OTHER]}
    record("recognition_limits", f"{COMMAND} limits", figures | {
        "table": as_table([["the same people", "pairs", "same", "asked about", "other"], *rows]),
    })  # fmt: skip


def show_cost() -> None:
    rows = []
    for name, frame in tables().items():
        began = time.process_time()
        table = table_of(frame)
        hashed = time.process_time() - began
        body = packed(table.sketch)
        made = time.process_time() - began - hashed
        half = table_of(frame[: frame.height // 2]).sketch
        compared(table, half, tables=1)
        began = time.process_time()
        compared(table, half, tables=1)
        seconds = time.process_time() - began
        ordinary = sum(one.sketch.kind is Kind.ORDINARY for one in table.columns)
        rows.append(printed(
            name, f"{frame.height:,}", f"{frame.width} ({ordinary})", f"{len(body) / 1000:.0f}", f"{hashed:.2f}",
            f"{made:.2f}", f"{1000 * seconds:.0f}",
        ))  # fmt: skip
    heads = ["table", "rows", "columns (ordinary)", "sketch, kB", "hashing, CPU s", "sketch, CPU s", "a comparison, ms"]
    record("recognition_cost", f"{COMMAND} cost", {"table": as_table([heads, *rows])})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["independent", "rewritten", "cost"])
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for part in given.parts:
        if part == "independent":
            show_pairs(part, INDEPENDENT, given.pairs or 30_000, given.seed)
        elif part == "rewritten":
            show_pairs(part, REWRITTEN, given.pairs or 400, given.seed)
        elif part == "http":
            show_http(given.pairs or 300, given.seed)
        elif part == "limits":
            show_limits(given.pairs or 20, given.seed)
        elif part == "uploads":
            show_uploads(given.pairs or 40, given.seed)
        else:
            show_cost()


if __name__ == "__main__":
    main()
