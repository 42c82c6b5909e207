"""What a base decides about later releases of its series, refused at its pointer."""

from typing import Any

import pytest

from app.contracts.inputs import Given, ReleaseInput
from app.contracts.releases import ReleaseColumn, ReleaseState
from app.jobs.submit import echo
from app.methods.boxes import check as boxes
from app.methods.boxes.spec import BoxesSpec

SPEC: dict[str, Any] = {"method": "boxes", "quasi_identifiers": ["age", "hours", "town"], "k": 5, "keep": ["job"]}
PUBLISHED = ["box", "age_lo", "age_hi", "hours_lo", "hours_hi", "town_set", "job"]
TYPES = {"box": "integer", "age_lo": "integer", "age_hi": "integer", "town_set": "list", "job": "string"}


def base(method: str = "boxes", state: ReleaseState = ReleaseState.PUBLISHED, **more: Any) -> ReleaseInput:
    spec = BoxesSpec.model_validate(SPEC | {"dataset_id": "ds_1"} | more)
    columns = tuple(ReleaseColumn(name=name, type=TYPES.get(name, "number")) for name in PUBLISHED)
    return ReleaseInput(
        id="rel_1", method=method, dataset_id="ds_1", rows=300, columns=columns, flags=(), spec=echo(spec), state=state
    )


def checked(made_from: ReleaseInput, **more: Any) -> tuple[BoxesSpec, dict[str, str]]:
    later = {"method": "boxes", "quasi_identifiers": ["age"], "k": 5, "base_release_id": "rel_1"} | more
    given = Given(releases={"base_release_id": made_from})
    filled = boxes.fill_boxes(BoxesSpec.model_validate(later), given)
    return filled, {error.pointer: error.detail for error in boxes.check_boxes(filled, given)}


def test_all_that_is_not_said_is_the_bases() -> None:
    made_from = base(l=2, sensitive=["job"], domains={"age": [0, 120], "hours": [0, 99]}, rare_records="mark", t=0.3)
    spec, wrong = checked(made_from, quasi_identifiers=["age", "town"], k=9)
    assert wrong == {}
    assert (spec.l, spec.t, spec.sensitive, dict(spec.domains)) == (2, 0.3, ("job",), {"age": (0, 120)})
    assert (spec.rare_records, spec.dataset_id, spec.keep) == ("keep", None, ())
    assert [one.kind for one in spec.statistics or ()] == ["mean", "variance", "share"]


@pytest.mark.parametrize(
    ("made_from", "options", "pointer", "says"),
    [
        ({}, {"quasi_identifiers": ["age", "wage"]}, "/quasi_identifiers/1", "'age', 'hours', 'town'"),
        ({}, {"keep": ["town"]}, "/keep/0", "'job'"),
        ({"keep": []}, {"keep": ["job"]}, "/keep/0", "none"),
        ({}, {"k": 4}, "/k", "the least k is 5"),
        ({}, {"k": 301}, "/k", "the largest k is 300"),
        ({"person_column": "id"}, {"k": 6}, "/k", "persons"),
        ({}, {"bounds": "tight"}, "/bounds", "leave it out"),
        ({}, {"l": 2, "sensitive": ["job"]}, "/l", "leave it out"),
        (
            {},
            {"statistics": [{"kind": "mean", "of": ["hours"]}]},
            "/statistics/0/of/0",
            "add it to `quasi_identifiers`",
        ),
        (
            {},
            {"statistics": [{"kind": "mean", "of": ["town"]}], "quasi_identifiers": ["town"]},
            "/statistics/0/of/0",
            "numbers",
        ),
        ({"method": "uncertain"}, {}, "/base_release_id", "uncertain"),
        ({"state": ReleaseState.DRAFT}, {}, "/base_release_id", "publish it first"),
        ({"state": ReleaseState.WITHDRAWN}, {}, "/base_release_id", "withdrawn"),
        ({"survey_weight_column": "w"}, {}, "/base_release_id", "POST /v1/releases/rel_1/statistics"),
        ({"rare_records": "weigh"}, {}, "/base_release_id", "one release with all columns"),
        ({"dataset_id": None, "base_release_id": "rel_0"}, {}, "/base_release_id", "rel_0"),
    ],
)
def test_what_a_base_does_not_give_is_refused(
    made_from: dict[str, Any], options: dict[str, Any], pointer: str, says: str
) -> None:
    _, wrong = checked(base(**made_from), **options)
    assert says in wrong[pointer], wrong


def test_a_base_whose_job_was_deleted_has_no_series() -> None:
    made_from = base()
    kept = {name: made_from.spec[name] for name in ("method", "quasi_identifiers", "keep", "k")}
    forgotten = ReleaseInput(**{name: getattr(made_from, name) for name in made_from.__slots__} | {"spec": kept})
    assert "deleted" in checked(forgotten)[1]["/base_release_id"]


@pytest.mark.parametrize("named", [{}, {"dataset_id": "ds_1", "base_release_id": "rel_1"}])
def test_a_dataset_or_a_base_is_named(named: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="dataset") as refused:
        BoxesSpec.model_validate(SPEC | named)
    assert refused.value.errors()[0]["ctx"]["error"].parts == ("dataset_id",)
