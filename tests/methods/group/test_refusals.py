"""What an attack on group anonymity cannot be asked, and where the body is wrong."""

import copy
import math
from typing import Any

import httpx
import polars as pl
import pytest

from app.jobs.submit import echo
from tests.methods.asking import upload
from tests.methods.bases import VARIABLES, microfile
from tests.methods.in_process import Bench
from tests.methods.refusing import refused

AGE = {"column": "age", "range": [18, 60], "terms": [{"name": "young", "shape": "z", "points": [20, 30]}]}
VALID: dict[str, Any] = {
    "method": "group",
    "hidden_group": {"column": "job", "values": ["army"]},
    "region_columns": ["region"],
    "variables": VARIABLES,
}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A whole table, and a target without income and without the columns that name the group."""
    made = Bench(tmp_path_factory.mktemp("refused"))
    frame = microfile(3, regions=3, people=20, bases={1: 8}).with_columns(
        pl.lit(None, dtype=pl.Int64).alias("empty"),
        pl.lit("2020-01-01").alias("day"),
        pl.when(pl.int_range(pl.len()) == 1).then(math.inf).otherwise(1.0).alias("far"),
    )
    made.upload("whole", frame, type={"empty": "integer", "far": "number"})
    bare = microfile(4, regions=3, people=20, bases={1: 8}).drop("job", "income").with_columns(way=pl.lit("foot"))
    made.upload("bare", bare)
    return made


def term(**changes: Any) -> dict[str, Any]:
    return {"variables": [AGE | {"terms": [{"name": "young", "shape": "pi", "points": [1, 2, 3, 4]} | changes]}]}


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"hidden_group": {"column": "nein", "values": [1]}}, "/hidden_group/column", "no column"),
        ({"hidden_group": [{"column": "sex", "values": [1, "two"]}]}, "/hidden_group/0/values/1", "give an integer"),
        ({"hidden_group": []}, "/hidden_group", ""),
        ({"region_columns": ["region", "nein"]}, "/region_columns/1", "no column"),
        ({"region_columns": ["region", "region"]}, "/region_columns/1", "twice"),
        ({"region_columns": ["job"]}, "/region_columns/0", "names the group"),
        ({"region_columns": ["age"]}, "/variables/0/column", "rules must not know"),
        ({"hidden_group": {"column": "way", "values": [3]}}, "/variables/2/column", "learns nothing"),
        ({"variables": [AGE, AGE]}, "/variables/1/column", "twice"),
        ({"variables": [{"column": "age", "range": [18, 60]}]}, "/variables", "no variable has terms"),
        ({"variables": [AGE | {"range": [60, 18]}]}, "/variables/0/range", "lo not above hi"),
        ({"variables": [AGE | {"range": [200, 300]}]}, "/variables/0/range", "in [200, 300]; widen"),
        ({"variables": [AGE | {"column": "empty"}]}, "/variables/0/range", "is empty"),
        ({"variables": [AGE | {"column": "state"}]}, "/variables/0/column", "not numeric"),
        ({"variables": [AGE | {"column": "nein"}]}, "/variables/0/column", "no column"),
        ({"variables": [AGE | {"terms": AGE["terms"] * 2}]}, "/variables/0/terms", "same name"),
        (term(points=[1, 3, 2, 4]), "/variables/0/terms/0/points", "out of order"),
        (term(points=[1, 2, 3]), "/variables/0/terms/0/points", "needs 4 points"),
        (term(shape="triangle"), "/variables/0/terms/0/points", "needs 3 points"),
        (term(shape="range"), "/variables/0/terms/0/points", "needs 2 points"),
        (term(shape="bell"), "/variables/0/terms/0/shape", "gaussian"),
        (term(shape="gaussian"), "/variables/0/terms/0/sigma", "required"),
        (term(points=[1, 2, 3, "x"]), "/variables/0/terms/0/points/3", ""),
        (term(points=[1, 2, 3, 1e200]), "/variables/0/terms/0/points/3", ""),
        ({"variables": [AGE | {"terms": [{"name": "g", "shape": "gaussian", "sigma": 0, "centre": 1}]}]},
         "/variables/0/terms/0/sigma", "greater"),
        ({"search": {"method": "luck"}}, "/search/method", "evolution"),
        ({"search": {"method": "evolution", "population": 10, "replaced": 11}}, "/search/replaced", "more rules"),
        ({"outliers": {"ignore": [["R01", "x"]]}}, "/outliers/ignore/0", "('region'), got 2"),
        ({"region_columns": ["sex"], "outliers": {"ignore": [1, "x"]}}, "/outliers/ignore/1", "is integer"),
        ({"split_column": "nein"}, "/split_column", "no column"),
        ({"split_column": "far"}, "/split_column", "1 infinite value;"),
        ({"region_columns": ["region", "far"]}, "/region_columns/1", "1 infinite value;"),
        ({"region_columns": ["away"], "recode": {"auxiliary": {"away": {"columns": ["far"]}}}},
         "/region_columns/0", "1 infinite value;"),
        ({"search": {"method": "evolution", "generations": 100_000, "runs": 1_000}}, "/search", "10,000,000 rules"),
        ({"recode": {"auxiliary": {"nein": {"1": 2}}}}, "/recode/auxiliary/nein", "no column 'nein'"),
        ({"recode": {"auxiliary": {"x": {"columns": ["nein"]}}}}, "/recode/auxiliary/x", "from which 'x' is made"),
        ({"recode": {"auxiliary": {"sex": {"male": 2}}}}, "/recode/auxiliary/sex/male", "is integer"),
        ({"recode": {"auxiliary": {"x": {"columns": ["sex", "state"]}}}}, "/recode/auxiliary/x/cases", "cases"),
        ({"recode": {"auxiliary": {"x": {"columns": ["sex"], "cases": [{"when": {"way": [1]}, "to": 1}]}}}},
         "/recode/auxiliary/x/cases/0/when/way", "not one of"),
        ({"recode": {"auxiliary": {"x": {"columns": ["sex"], "cases": [{"when": {"sex": ["m"]}, "to": 1}]}}}},
         "/recode/auxiliary/x/cases/0/when/sex", "is integer"),
        ({"recode": {"auxiliary": {"age": {"columns": ["job"], "cases": [{"when": {"job": ["army"]}, "to": 20}]}}}},
         "/variables/0/column", "learns nothing"),
        ({"dataset_id": "ds_x"}, "/dataset_id", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_at_its_place(
    there: Bench, change: dict[str, Any], pointer: str, says: str
) -> None:
    refused(there, copy.deepcopy(VALID) | {"auxiliary_dataset_id": "whole"} | change, pointer, says)


@pytest.mark.parametrize("field", ["auxiliary_dataset_id", "target_dataset_id"])
def test_a_dataset_that_is_not_there_is_refused_at_its_field(client: httpx.Client, field: str) -> None:
    whole = upload(client, microfile(3, regions=3, people=20, bases={1: 8}).write_csv())["id"]
    answer = client.post("/v1/audits", json=VALID | {"auxiliary_dataset_id": whole} | {field: "ds_absent"})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["pointer"] for error in answer.json()["errors"]] == [f"/{field}"]


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({}, "/variables/3/column", "target dataset has no column 'income'"),
        ({}, "/variables/2/column", "map its values to numbers with `recode`"),
        ({"recode": {"target": {"way": {"foot": "walks"}}}}, "/variables/2/column", "not numeric"),
        ({"recode": {"target": {"nein": {"foot": 3}}}}, "/recode/target/nein", "no column"),
    ],
)
def test_a_target_that_is_not_harmonised_is_refused(
    there: Bench, change: dict[str, Any], pointer: str, says: str
) -> None:
    spec = VALID | {"auxiliary_dataset_id": "whole", "target_dataset_id": "bare"}
    refused(there, spec | change, pointer, says)


def test_defaults_are_written_out(there: Bench) -> None:
    accepted, wrong = there.accepted(VALID | {"auxiliary_dataset_id": "whole", "seed": 3})
    assert wrong == []
    spec = echo(accepted)
    assert spec["target_dataset_id"] == "whole"
    thresholds = {"min_membership": 0.5, "min_relative_confidence": 0.75, "min_support": 0.001}
    assert {name: spec[name] for name in thresholds} == thresholds
    assert spec["signal"] == "quantity"
    assert spec["search"] == {
        "method": "evolution", "population": 100, "replaced": 40, "tournament": 10, "crossover": 1.0,
        "mutation": 0.05, "generations": 100, "runs": 10, "diversity": True, "paper": False,
    }  # fmt: skip
    assert spec["outliers"] == {"test": "thompson_tau", "significance_level": 0.01, "robust": True, "ignore": []}
    assert (spec["split_column"], spec["min_split_share"], spec["seed"]) == (None, 0.005, "given")
