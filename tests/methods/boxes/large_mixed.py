"""A large table of columns of all kinds, anonymized by the real runner, and what its boxes and cuts are, as text.

    python -m tests.methods.boxes.large_mixed FOLDER CASE

writes them as JSON: another process may have other threads.
"""

import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from tests.algorithms.boxes.mixed_tables import nodes
from tests.methods.in_process import Bench
from workers.algorithms.boxes.partition.partition import PartitionState
from workers.algorithms.boxes.state import BoxesState, MixedCutting
from workers.methods.boxes.runner import Anonymizing, BoxesRunner
from workers.methods.outcome import ReleaseDraft

GRADES: Final = ["none", "low", "mid", "high", "best"]
COLUMNS: Final = ["income", "age", "grade", "work", "sex"]
STATISTICS: Final[list[dict[str, Any]]] = [
    {"kind": "mean", "of": ["income"]},
    {"kind": "variance", "of": ["age"]},
    {"kind": "share", "of": ["work"]},
    {"kind": "share", "of": ["grade"], "values": ["high", "best"]},
    {"kind": "domain_mean", "of": ["income", "sex"]},
]
#: Each with the way in which the nodes must be cut that no block can hold.
CASES: Final[dict[str, tuple[int, str, dict[str, Any]]]] = {
    "fast": (20_000, "halved", {"partition": "fast"}),
    "fast, missing values": (20_000, "halved", {"partition": "fast", "missing_policy": "pattern", "bounds": "tight"}),
    "fast, a survey": (20_000, "halved", {"partition": "fast", "survey_weight_column": "weight"}),
    "optimal": (20_000, "measured", {"bounds": "tight"}),
    "optimal, demands": (
        20_000,
        "measured",
        {"l": 2, "sensitive": ["ill"], "keep": ["ill"], "person_column": "person"},
    ),
    "optimal, a rare class": (
        20_000,
        "measured",
        {"keep": ["rare"], "k_counts_kept": True, "max_suppressed_classes": 0.1},
    ),
    "optimal, a rare class of persons": (
        20_000,
        "measured",
        {"keep": ["rare"], "k_counts_kept": True, "max_suppressed_classes": 0.2, "person_column": "person"},
    ),
    "optimal, a survey": (20_000, "measured", {"survey_weight_column": "weight"}),
    "optimal, sampled": (300_500, "sampled", {}),
    "optimal, sampled, a survey": (300_500, "sampled", {"survey_weight_column": "weight", "bounds": "tight"}),
}


def table(case: str) -> pl.DataFrame:
    """Values that tie, more of a nominal column than are parts, and records that are the same in all columns cut."""
    rows, _, change = CASES[case]
    draw = np.random.default_rng(11)
    frame = pl.DataFrame(
        {
            "income": np.round(draw.lognormal(7, 1, rows), 1),
            "age": draw.integers(17, 90, rows),
            "grade": draw.choice(GRADES, rows, p=[0.1, 0.3, 0.4, 0.15, 0.05]),
            "work": pl.Series(draw.geometric(0.06, rows) % 90).cast(pl.String),
            "sex": draw.choice(["f", "m"], rows),
        }
    )
    if change.get("missing_policy"):
        lacking = pl.Series(draw.random(rows) < 0.1)
        frame = frame.with_columns(pl.when(lacking).then(None).otherwise(pl.col("age")).alias("age"))
    frame = pl.concat([frame, frame.head(rows // 4)])
    return frame.with_columns(
        rare=pl.Series(np.where(draw.random(len(frame)) < 5 / rows, "rare", draw.choice(["a", "b"], len(frame)))),
        ill=pl.Series(draw.choice(["yes", "no"], len(frame), p=[0.4, 0.6])),
        person=pl.Series(draw.integers(0, len(frame), len(frame))).cast(pl.String),
        weight=pl.Series(draw.uniform(0.5, 3.0, len(frame))),
    )


def spec(case: str, **more: Any) -> dict[str, Any]:
    return {
        "method": "boxes", "dataset_id": "table", "quasi_identifiers": COLUMNS, "k": 25, "ordinal": {"grade": GRADES},
        "statistics": STATISTICS, "least_widths": "none",
    } | CASES[case][2] | more  # fmt: skip


def digest_of(folder: Path, frame: pl.DataFrame, body: dict[str, Any]) -> dict[str, Any]:
    """A digest of the boxes, how many there are, and how many nodes beyond a block were cut in which way."""
    bench = Bench(folder)
    bench.dataset("table", frame)
    filled, wrong = bench.accepted(body)
    assert not wrong, wrong
    runner, job = BoxesRunner(), bench.context(filled)
    state = runner.init(job)
    cuts: PartitionState | None = None
    algorithm: BoxesState | None = None
    while not runner.done(state):
        state = runner.step(state, job)
        assert isinstance(state, Anonymizing)
        if isinstance(state.algorithm, MixedCutting):
            algorithm, cuts = state.algorithm, state.algorithm.cuts
    assert isinstance(algorithm, MixedCutting)
    assert cuts is not None
    outcome = runner.finish(state, job)
    assert outcome.release is not None
    count, digest = boxes(outcome.release)
    said = json.dumps(sorted(map(_plainly, outcome.release.statistics)))
    return {
        "box_count": count, "digest": digest, "statistics": hashlib.sha256(said.encode()).hexdigest(),
        "nodes": asdict(nodes(algorithm.mixed.request, cuts)),
    }  # fmt: skip


def boxes(draft: ReleaseDraft) -> tuple[int, str]:
    """How many, and a digest of all with numbers, sides, counts and kept values, in whatever order they stand."""
    rows = pl.read_parquet(draft.files["parquet"].path)
    lists = [name for name, kind in rows.schema.items() if isinstance(kind, pl.List)]
    rows = rows.with_columns(pl.col(name).list.sort().list.join("|") for name in lists)
    names = sorted(rows.columns)
    each = rows.select(names).group_by(names).len().sort(names)
    return each["box"].n_unique(), hashlib.sha256(each.write_csv().encode()).hexdigest()


def _plainly(statistic: Any) -> str:
    return json.dumps(statistic, sort_keys=True, default=str)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digest_of(Path(sys.argv[1]), table(sys.argv[2]), spec(sys.argv[2]))))
