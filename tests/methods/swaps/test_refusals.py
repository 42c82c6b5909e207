"""What masking cannot be asked, and where the body is wrong."""

import copy
from typing import Any

import httpx
import pytest

from app.methods.group.spec import GroupSpec
from app.methods.swaps.spec import SwapsSpec, model_of
from tests.methods.asking import run, succeed, upload
from tests.methods.bases import VARIABLES, microfile
from tests.methods.in_process import Bench
from tests.methods.refusing import refused

RULES = [{"terms": [1, 3, 2]}]
MODEL: dict[str, Any] = {"variables": VARIABLES, "rules": RULES}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("refused"))
    made.upload("small", microfile(3, regions=4, people=20, bases={1: 8}))
    return made


@pytest.fixture(scope="module")
def small(client: httpx.Client) -> str:
    return str(upload(client, microfile(3, regions=4, people=20, bases={1: 8}).write_csv())["id"])


@pytest.fixture(scope="module")
def audit_id(client: httpx.Client, small: str) -> str:
    spec = {
        "method": "group", "auxiliary_dataset_id": small, "hidden_group": [{"column": "job", "values": ["army"]}],
        "region_columns": ["region"], "variables": VARIABLES, "search": {"method": "exhaustive"},
    }  # fmt: skip
    return str(succeed(client, spec, kind="audits")["id"])


@pytest.fixture(scope="module")
def failed_id(client: httpx.Client, small: str) -> str:
    spec = {
        "method": "group", "auxiliary_dataset_id": small, "hidden_group": {"column": "job", "values": ["navy"]},
        "region_columns": ["region"], "variables": VARIABLES,
    }  # fmt: skip
    return str(run(client, spec, kind="audits")["id"])


def spec_for(small: str, **changes: Any) -> dict[str, Any]:
    valid = {
        "method": "swaps",
        "dataset_id": small,
        "region_columns": ["region"],
        "rules_model": MODEL,
        "drop": ["job"],
    }
    return {name: value for name, value in (copy.deepcopy(valid) | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"rules_model": None}, "/model_job_id", "`model_job_id` or `rules_model`"),
        ({"model_job_id": "job_absent"}, "/rules_model", "`model_job_id` or `rules_model`"),
        ({"region_columns": ["nein"]}, "/region_columns/0", "no column"),
        ({"region_columns": ["age"]}, "/region_columns/0", "variable of the model"),
        ({"region_columns": ["region", "job"]}, "/region_columns/1", "is dropped"),
        ({"drop": ["nein"]}, "/drop/0", "no column"),
        ({"drop": ["job", "job"]}, "/drop/1", "twice"),
        ({"rules_model": MODEL | {"rules": [{"terms": [1, 1]}]}},
         "/rules_model/rules/0/terms", "3 variables have terms"),
        ({"rules_model": MODEL | {"rules": [{"terms": [0, 0, 0]}]}}, "/rules_model/rules/0/terms", "reveals nothing"),
        ({"rules_model": MODEL | {"rules": [{"terms": [4, 0, 0]}]}}, "/rules_model/rules/0/terms", "does not have"),
        ({"rules_model": MODEL | {"rules": [{"terms": [-1, 0, 0]}]}}, "/rules_model/rules/0/terms/0", ""),
        ({"rules_model": MODEL | {"variables": [VARIABLES[0] | {"column": "state"}], "rules": [{"terms": [1]}]}},
         "/rules_model/variables/0/column", "not numeric"),
        ({"rules_model": MODEL | {"variables": [VARIABLES[0] | {"range": [200, 300]}], "rules": [{"terms": [1]}]}},
         "/rules_model/variables/0/range", "widen"),
        ({"rules_model": MODEL | {"recode": {"sex": {"x": 1}}}}, "/rules_model/recode/sex/x", "is integer"),
        ({"mask": "everything"}, "/mask", ""),
        ({"mask": []}, "/mask", ""),
        ({"mask": [{"region": ["R01"]}]}, "/mask/0/at_most", "`at_most`"),
        ({"mask": [{"region": ["R01"], "at_most": 1, "at_least": 2}]}, "/mask/0/at_most", "`at_most`"),
        ({"mask": [{"region": ["R01"], "at_most": 3, "zero_at": 3}]}, "/mask/0/zero_at", "above"),
        ({"mask": [{"region": ["R01"], "at_least": 3, "zero_below": 3}]}, "/mask/0/zero_below", "below"),
        ({"mask": [{"region": ["R01"], "at_least": 3, "zero_at": 9}]}, "/mask/0/zero_at", "goes with"),
        ({"mask": [{"region": ["R01"], "at_most": -1}]}, "/mask/0/at_most", ""),
        ({"mask": [{"region": "R01", "at_most": 1}], "sources": ["R02"]}, "/mask/0/region", "not one of `sources`"),
        ({"mask": [{"region": "R01", "at_most": 1}], "targets": ["R01"]}, "/mask/0/region", "one of `targets`"),
        ({"mask": [{"region": "R01", "at_least": 9}], "targets": ["R02"]}, "/mask/0/region", "not one of `targets`"),
        ({"mask": [{"region": "R01", "at_least": 9}], "sources": ["R01"]}, "/mask/0/region", "one of `sources`"),
        ({"mask": [{"region": ["R01", "x"], "at_most": 1}]}, "/mask/0/region", "('region'), got 2"),
        ({"mask": [{"region": ["R01"], "at_most": 1}, {"region": "R01", "at_most": 2}]}, "/mask/1/region", "twice"),
        ({"region_columns": ["sex"], "mask": [{"region": "she", "at_most": 1}]}, "/mask/0/region", "is integer"),
        ({"region_columns": ["sex"], "mask": [{"region": 1, "at_most": 1}, {"region": 1.0, "at_most": 1}]},
         "/mask/1/region", "twice"),
        ({"region_columns": ["sex"], "sources": [1], "targets": ["1.0"]}, "/targets/0", "is a source"),
        ({"sources": [["R01"]], "targets": [["R02"], ["R01"]]}, "/targets/1", "is a source"),
        ({"ceilings": [{"region": "R02", "at_most": 3}]}, "/ceilings", "`assignment` only"),
        ({"metric": {"ordinal": {"state": 1}}}, "/metric/ordinal/state", "categorical"),
        ({"metric": {"ordinal": {"nein": 1}}}, "/metric/ordinal/nein", "no column"),
        ({"metric": {"categorical": {"region": 1}}}, "/metric/categorical/region", "exchanged"),
        ({"metric": {"ordinal": {"age": 0}}}, "/metric", "above 0"),
        ({"metric": {"ordinal": {"age": 1}, "categorical": {"age": 1}}}, "/metric/categorical/age", "at once"),
        ({"metric": {"ordinal": {"age": -1}}}, "/metric/ordinal/age", ""),
        ({"search": {"method": "luck"}}, "/search/method", "memetic"),
        ({"search": {"method": "memetic", "generations": 10_000, "runs": 101}}, "/search", "1,000,000"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_at_its_place(
    there: Bench, change: dict[str, Any], pointer: str, says: str
) -> None:
    refused(there, spec_for("small", **change), pointer, says)


def test_a_model_that_does_not_fit_the_dataset_is_refused_where_it_is_named(there: Bench) -> None:
    there.job("attack", {
        "method": "group", "auxiliary_dataset_id": "small", "hidden_group": [{"column": "job", "values": ["army"]}],
        "region_columns": ["region"], "variables": VARIABLES, "search": {"method": "exhaustive"},
    })  # fmt: skip
    there.upload("bare", microfile(3, regions=4, people=20, bases={1: 8}).drop("hours"))
    spec = spec_for("bare", rules_model=None, model_job_id="attack", drop=None)
    refused(there, spec, "/model_job_id", "does not fit this dataset: the dataset has no column 'hours'")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"dataset_id": "ds_absent"}, "/dataset_id"),
        ({"rules_model": None, "model_job_id": "job_absent"}, "/model_job_id"),
    ],
)
def test_what_is_not_there_is_refused_at_its_field(
    client: httpx.Client, small: str, change: dict[str, Any], pointer: str
) -> None:
    refused_over_http(client, spec_for(small, **change), pointer, "no ")


def test_a_model_must_be_a_group_job_that_has_succeeded(client: httpx.Client, small: str, failed_id: str) -> None:
    boxes = run(
        client, {"method": "boxes", "dataset_id": small, "quasi_identifiers": ["age"], "k": 2, "missing_policy": "drop"}
    )
    refused_over_http(
        client, spec_for(small, rules_model=None, model_job_id=boxes["id"]), "/model_job_id", "this one is `boxes`"
    )
    refused_over_http(
        client, spec_for(small, rules_model=None, model_job_id=failed_id), "/model_job_id", "The job is failed"
    )


def test_what_new_rules_would_be_learned_from_must_name_the_group(
    client: httpx.Client, small: str, audit_id: str
) -> None:
    bare = upload(client, microfile(4, regions=3, people=20, bases={1: 8}).drop("job").write_csv())["id"]
    spec = spec_for(small, rules_model=None, model_job_id=audit_id, auxiliary_dataset_id=bare)
    refused_over_http(client, spec, "/auxiliary_dataset_id", "which names the group")
    refused_over_http(
        client, spec_for(small, auxiliary_dataset_id=small), "/auxiliary_dataset_id", "one of a `group` job"
    )
    spec = spec_for(small, rules_model=None, model_job_id=audit_id, auxiliary_dataset_id=small, learn_again=False)
    refused_over_http(client, spec, "/auxiliary_dataset_id", "`learn_again` is false")


def test_a_search_whose_individuals_would_fill_the_memory_is_refused_over_http(client: httpx.Client) -> None:
    frame = microfile(5, regions=3, people=6_000, bases={1: 2_500})
    dataset = upload(client, frame.write_csv())["id"]
    rule = [{"terms": [1, 0, 0]}]
    spec = spec_for(dataset, rules_model=MODEL | {"rules": rule}, mask=[{"region": "R01", "at_most": 0}])
    spec["search"] = {"method": "memetic", "population": 10_000, "pairs": 10_000, "generations": 1, "runs": 1_000}
    job = run(client, spec)
    assert (job["state"], job["error"]["type"]) == ("failed", "/problems/infeasible")
    assert job["error"]["errors"][0]["pointer"] == "/search"


def test_columns_that_name_the_group_are_always_dropped(client: httpx.Client, small: str, audit_id: str) -> None:
    spec = spec_for(small, rules_model=None, model_job_id=audit_id, drop=None)
    filled = client.post("/v1/anonymizations", json=spec).json()["spec"]
    assert filled["drop"] == ["job"]
    assert filled["auxiliary_dataset_id"] == small
    assert filled["metric"] == {
        "ordinal": {"age": 1.0, "hours": 1.0, "way": 1.0, "income": 1.0}, "categorical": {},
    }  # fmt: skip
    assert filled["mask"] == "outliers"
    assert filled["search"] == {
        "method": "memetic", "population": 100, "pairs": 40, "tournament": 5, "generations": 1000,
        "crossover": 1.0, "mutation": 0.001, "local_search": 0.75, "runs": 1, "paper": False,
    }  # fmt: skip
    refused_over_http(client, spec | {"region_columns": ["job"]}, "/region_columns/0", "names the group")


def test_raw_columns_of_the_group_are_dropped_where_only_the_auxiliary_dataset_is_recoded() -> None:
    """A target may hold the columns that the group is derived from, and say nothing of them."""
    army = {"columns": ["job", "class"], "cases": [{"when": {"job": ["army"]}, "to": 1}], "otherwise": 0}
    learned = GroupSpec.model_validate({
        "method": "group", "auxiliary_dataset_id": "ds_a", "target_dataset_id": "ds_b", "region_columns": ["region"],
        "variables": VARIABLES, "hidden_group": [{"column": "army", "values": [1]}, {"column": "sex", "values": ["m"]}],
        "recode": {"auxiliary": {"army": army}, "target": {"sex": {"columns": ["gender"]}}},
    })  # fmt: skip
    for dataset in ("ds_a", "ds_b", "ds_c"):
        spec = SwapsSpec.model_validate(spec_for(dataset, rules_model=None, model_job_id="job_x"))
        model = model_of(spec, learned)
        assert model is not None
        assert set(model.group_columns) == {"job", "class", "army", "sex", "gender"}


def refused_over_http(client: httpx.Client, spec: dict[str, Any], pointer: str, says: str) -> None:
    answer = client.post("/v1/anonymizations", json=spec)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, answer.text
    errors = answer.json()["errors"]
    assert pointer in {error["pointer"] for error in errors}, errors
    assert says in " ".join(error["detail"] for error in errors)
