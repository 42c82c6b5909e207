"""Classifiers of members and of moved records, where there are few of them."""

import httpx
import numpy as np
import pytest

from app.methods.microfile.spec import OutlierOptions
from tests.methods.asking import succeed, upload
from tests.methods.bases import VARIABLES, microfile
from workers.algorithms.groups.classifiers.attack import judged
from workers.methods.microfile.classifying import Standing, _moved


def standing(moved: list[int]) -> Standing:
    """Six records in three places, of which the first two are masked; the fuzzy group elsewhere are records 3 to 5."""
    return Standing(
        place=np.array([0, 0, 1, 2, 2, 2]), in_range=np.ones(6, dtype=np.bool_), places=3, wanted=(0, 1),
        outliers=OutlierOptions(), moved=np.array(moved), group=np.array([3, 4, 5]),
    )  # fmt: skip


def test_who_went_from_one_masked_place_to_another_is_not_looked_for() -> None:
    assert _moved(np.ones(6), standing([2])) is None
    assert _moved(np.ones(6), standing([])) is None


def test_the_moved_record_with_the_highest_score_is_the_first_that_is_distinguished() -> None:
    seen = _moved(np.array([0.0, 0.0, 0.0, 0.9, 0.5, 0.1]), standing([2, 3]))
    assert seen is not None
    assert (seen.records, seen.moved, seen.auc) == (3, 1, 1.0)
    assert [one.precision for one in seen.precision_at_recall] == pytest.approx([1.0] * len(seen.precision_at_recall))


@pytest.mark.parametrize("seed", range(3))
def test_ten_members_among_thousands_are_in_every_fold(seed: int) -> None:
    """They have the first value of one column, which therefore drives the classifier; the other column is noise."""
    draw = np.random.default_rng(seed)
    y = np.zeros(9_000, dtype=np.bool_)
    y[draw.choice(9_000, 10, replace=False)] = True
    codes = np.column_stack([np.where(y, 0, draw.integers(1, 4, 9_000)), draw.integers(0, 4, 9_000)])
    seen = judged("naive_bayes", codes, y, float(y.mean()), (True, True), draw, lambda _: None)
    assert seen.auc == 1.0
    assert seen.precision == pytest.approx((1.0,) * len(seen.precision))
    assert seen.driving[0] > 0.3 > abs(seen.driving[1])


def test_a_file_is_masked_though_no_classifier_can_be_trained(client: httpx.Client) -> None:
    """Seven soldiers abroad: too few to train on, enough for rules."""
    abroad = upload(client, microfile(5, regions=4, bases={1: 7}, background=0).write_csv(), new_family=True)["id"]
    home = upload(client, microfile(6, bases={4: 40, 11: 34}).write_csv(), new_family=True)["id"]
    group = succeed(client, {
        "method": "group", "auxiliary_dataset_id": abroad, "target_dataset_id": home, "variables": VARIABLES[:3],
        "hidden_group": {"column": "job", "values": ["army"]}, "region_columns": ["region"],
        "search": {"method": "exhaustive"},
    }, kind="audits")  # fmt: skip
    job = succeed(client, {
        "method": "swaps", "dataset_id": home, "region_columns": ["region"], "model_job_id": group["id"],
        "search": {"method": "assignment"}, "protected_alphas": [0.5], "decoys": 0.0,
    })  # fmt: skip
    (warning,) = (one for one in job["warnings"] if one["code"] == "classifiers_not_trained")
    assert "7 of 600 records are the group's" in warning["detail"]
    assert job["result"]["attack_again"]["classifiers"] == []
    assert job["result"]["masked_regions"]
