"""Measures of a job's own release, against counting it row by row; what it lacks keeps it a draft."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.datasets import ColumnType
from app.contracts.findings import ProtectionResult
from app.contracts.jobs import JobKind
from app.methods.boxes.spec import BoxesSpec
from app.methods.catalogue import METHODS, methods_of
from tests.drawing import seeds
from workers.engine.ending.review import failures
from workers.methods.boxes.columns import Shown
from workers.methods.boxes.demanded import demanded
from workers.methods.boxes.exposure import exposure_of
from workers.methods.released.demanded import verdict

ANONYMIZATIONS = [pytest.param(one.name, id=one.name) for one in methods_of(JobKind.ANONYMIZATION)]


def missed(rows: list[dict[str, Any]], spec: dict[str, Any]) -> int:
    """Count the demands that some box misses."""
    boxes = defaultdict(list)
    for row in rows:
        boxes[row["box"]].append(row)
    alike = Counter()
    for box, members in boxes.items():
        for kept in {one["job"] for one in members}:
            alike[box, kept] = len({one["who"] for one in members if one["job"] == kept})
    number = min(len({one["who"] for one in members}) for members in boxes.values()) < spec["k"]
    number += spec["k_counts_kept"] and min(alike.values()) < spec["k"]
    ills = [[one["ill"] for one in members if one["ill"] is not None] for members in boxes.values()]
    if "l" in spec:
        number += min(len(set(one)) for one in ills) < spec["l"]
    if "alpha" in spec:
        tops = [max(Counter(one).values(), default=0) / max(len(one), 1) for one in ills]
        number += max(tops) > spec["alpha"] + 1e-9
    return int(number)


@pytest.mark.parametrize("seed", seeds(30))
def test_boxes_that_miss_a_demand_are_invalid_and_only_those(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng([4105, seed])
    size = int(draw.integers(4, 60))
    ill = [["a", "b", "c", None][one] for one in draw.integers(0, 4, size)]
    frame = pl.DataFrame({
        "box": draw.integers(0, 4, size), "job": draw.choice(["x", "y"], size), "ill": pl.Series(ill, dtype=pl.String),
        "who": np.arange(size) if draw.random() < 0.5 else draw.integers(0, size, size),
    })  # fmt: skip
    more: dict[str, Any] = {"k": int(draw.integers(1, 8)), "k_counts_kept": bool(draw.random() < 0.5)}
    more |= {"l": int(draw.integers(1, 4))} if draw.random() < 0.5 else {}
    more |= {"alpha": float(draw.uniform(0.2, 1.0))} if draw.random() < 0.5 else {}
    frame.write_parquet(tmp_path / "data.parquet")
    body = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": ["age"], "keep": ["job"], "sensitive": ["ill"]}
    spec = BoxesSpec.model_validate(body | ({"l": 1} if not {"l", "alpha"} & set(more) else {}) | more)
    shown = Shown(spec, {}, {"ill": ColumnType.STRING}, {})
    of_row = frame["box"].to_numpy()
    exposure = exposure_of(tmp_path / "data.parquet", shown, np.arange(size), of_row)
    persons = frame["who"].to_numpy().astype(np.int32)
    demands = demanded(spec, frame.select("job").to_arrow(), of_row, exposure, persons)
    result = ProtectionResult.model_validate(verdict("boxes", demands))
    expected = missed(frame.to_dicts(), spec.model_dump(exclude_none=True))
    assert len(result.findings) == expected
    assert result.valid == (expected == 0)
    assert len(failures("boxes", result.model_dump(mode="json"))) == expected


@pytest.mark.parametrize("name", ANONYMIZATIONS)
def test_every_method_says_whether_it_failed_and_a_failure_is_a_finding_of_it(name: str) -> None:
    assert issubclass(METHODS[name].result, ProtectionResult)
    finding = {"audit": "other", "severity": "high", "detail": "A place stands out.", "measured": 1.0, "required": 0.0}
    low = finding | {"severity": "low"}
    cases = ((True, [], 0), (True, [low], 0), (False, [], 1), (False, [low], 1), (True, [finding, low], 1))
    for valid, stated, number in cases:
        made = failures(name, {"valid": valid, "findings": stated})
        assert [(one.audit, one.severity.value) for one in made] == [(name, "high")] * number
    with pytest.raises(KeyError):
        failures(name, {})
