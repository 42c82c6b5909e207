"""What is refused of statistics that are asked of a release, each at its own place."""

import pytest

from app.contracts.inputs import Given, ReleaseInput
from app.contracts.releases import ReleaseColumn
from app.methods.queries.check import check_statistics
from app.methods.queries.spec import StatisticsSpec

RELEASE = ReleaseInput(
    id="rel_1",
    method="boxes",
    dataset_id="ds_1",
    rows=100,
    columns=(
        ReleaseColumn(name="age_lo", type="integer"),
        ReleaseColumn(name="age_hi", type="integer"),
        ReleaseColumn(name="born_lo", type="date"),
        ReleaseColumn(name="born_hi", type="date"),
        ReleaseColumn(name="sex_set", type="list"),
        ReleaseColumn(name="town", type="string"),
    ),
    flags=(),
    spec={"quasi_identifiers": ["age", "born", "sex"], "keep": ["town"]},
)


@pytest.mark.parametrize(
    ("statistic", "pointers"),
    [
        pytest.param({"kind": "mean", "of": ["age"]}, [], id="a mean of numbers"),
        pytest.param({"kind": "mean", "of": ["born"]}, [], id="a mean of days"),
        pytest.param({"kind": "share", "of": ["sex"], "values": ["f"]}, [], id="a share of a set"),
        pytest.param({"kind": "domain_mean", "of": ["age", "sex"], "values": ["f"]}, [], id="a mean within a set"),
        pytest.param({"kind": "mean", "of": ["sex"]}, ["/statistics/0/of/0"], id="a mean of texts"),
        pytest.param({"kind": "share", "of": ["age"], "values": [3]}, ["/statistics/0/of/0"], id="a share of numbers"),
        pytest.param({"kind": "crosstab", "of": ["sex", "age"]}, ["/statistics/0/of/1"], id="a cross-table of numbers"),
        pytest.param({"kind": "mean", "of": ["town"]}, ["/statistics/0/of/0"], id="a kept column"),
    ],
)
def test_a_statistic_of_the_wrong_kind_of_column_is_refused_where_it_stands(
    statistic: dict[str, object], pointers: list[str]
) -> None:
    spec = StatisticsSpec.model_validate({"release_id": "rel_1", "statistics": [statistic]})
    errors = check_statistics(spec, Given(releases={"release_id": RELEASE}))
    assert [error.pointer for error in errors] == pointers
