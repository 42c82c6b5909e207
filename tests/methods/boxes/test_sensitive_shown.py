"""Sensitive columns are published unless they are withheld; how often a guess of them can be right is counted again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.warnings import WarningCode
from app.methods.boxes.spec import BoxesSpec
from tests.methods.in_process import Bench, Done

K = 5
SPEC: dict[str, Any] = {
    "method": "boxes", "dataset_id": "d", "quasi_identifiers": ["age", "hours"], "k": K, "partition": "fast",
    "statistics": [{"kind": "mean", "of": ["age"]}, {"kind": "mean", "of": ["hours"]}],
}  # fmt: skip
LEAST_TWO: dict[str, Any] = {"sensitive": ["ill"], "l": 2}


def patients(rows: int = 600) -> pl.DataFrame:
    """An illness that most have, in spellings of their own, and some lack; wages of which everybody has another."""
    draw = np.random.default_rng(4406)
    age = draw.integers(18, 90, rows)
    ill = np.where(draw.random(rows) < 0.75, "flu", draw.choice(["asthma", "none", "gout"], rows))
    ill = np.where((ill == "flu") & (draw.random(rows) < 0.5), "Flu ", ill)
    frame = pl.DataFrame({
        "age": age, "hours": draw.uniform(1.0, 80.0, rows), "ill": ill, "who": np.arange(rows) // 2,
        "wage": draw.permutation(rows) + 0.5, "grade": draw.choice([1, 2, 3], rows, p=[0.7, 0.2, 0.1]),
        "design": draw.choice([1.0, 2.0], rows),
    })  # fmt: skip
    some = pl.Series(draw.random(rows))
    return frame.with_columns(
        pl.when(some > 0.1).then("ill").alias("ill"), pl.when(some < 0.95).then("age").alias("gap")
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("sensitive"))
    made.dataset("d", patients())
    return made


def counted(rows: pl.DataFrame, name: str) -> tuple[float, float]:
    """The largest share of one value among those of a box, and the share of rows in boxes where it is above 0.6."""
    largest, above = 0.0, 0
    for _, box in rows.group_by("box"):
        values = [one.strip().lower() if isinstance(one, str) else one for one in box[name] if one is not None]
        most = max(map(values.count, set(values)), default=0)
        largest = max(largest, most / max(len(values), 1))
        above += box.height if 10 * most > 6 * len(values) else 0
    return largest, above / rows.height


CASES: dict[str, dict[str, Any]] = {
    "spellings, and missing ones": LEAST_TWO,
    "numbers": {"sensitive": ["grade"], "alpha": 0.9},
    "two columns": {"sensitive": ["ill", "grade"], "l": 2},
    "named in `keep` too": LEAST_TWO | {"keep": ["grade", "ill"]},
    "persons": LEAST_TWO | {"person_column": "who"},
    "k counts it": {"sensitive": ["grade"], "l": 2, "k_counts_kept": True, "max_suppressed_classes": 0.5},
    "weights of boxes": LEAST_TWO | {"survey_weight_column": "design"},
    "marked": {"sensitive": ["grade"], "l": 2, "rare_records": "mark"},
    "suppressed": {"sensitive": ["grade"], "l": 2, "rare_records": "suppress"},
    "weighed": {"sensitive": ["grade"], "l": 2, "rare_records": "weigh"},
    "incomplete records left out": LEAST_TWO | {"quasi_identifiers": ["gap", "hours"], "missing_policy": "drop",
                                                "statistics": None},
    "patterns": LEAST_TWO | {"quasi_identifiers": ["gap", "hours"], "missing_policy": "pattern", "statistics": None},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_sensitive_column_is_in_every_row_and_its_shares_are_those_of_the_rows(bench: Bench, case: str) -> None:
    done = bench.run(SPEC | CASES[case])
    rows, names = done.rows(), CASES[case]["sensitive"]
    assert set(done.spec.model_dump()["keep"]) >= set(names), "the stored specification says so"
    assert done.release is not None
    parameters = done.release.parameters
    assert (parameters["withheld"], set(names) <= set(parameters["keep"])) == ([], True)
    data = patients()
    for name in names:
        published, there = (dict(each[name].value_counts().iter_rows()) for each in (rows, data))
        assert all(number <= there[value] for value, number in published.items()), "values of records, as they are"
        figures = counted(rows, name)
        for where in (done.whole, parameters):
            shown = (where["largest_share"][name], where["share_above_60_percent"][name])
            assert shown == pytest.approx(figures, abs=1e-12)
    if case == "spellings, and missing ones":
        assert figures[1] > 0.5, "the guess that distinct l leaves"
        assert rows["ill"].null_count() > 0


@pytest.mark.parametrize("case", ["spellings, and missing ones", "persons", "marked"])
def test_a_withheld_column_has_the_same_boxes_and_is_not_shown(bench: Bench, case: str) -> None:
    shown = bench.run(SPEC | CASES[case])
    (name,) = CASES[case]["sensitive"]
    hidden = bench.run(SPEC | CASES[case] | {"withheld": [name]})
    assert name not in hidden.rows().columns
    assert hidden.release is not None
    assert name not in str(hidden.release.statistics)
    assert hidden.release.parameters["withheld"] == [name]
    assert not {"largest_share", "share_above_60_percent"} & set(hidden.release.parameters)
    for figure in ("largest_share", "share_above_60_percent", "share_certain", "t_closeness", "box_count"):
        assert hidden.whole[figure] == shown.whole[figure], "its owner learns the same"
    assert foreseen(hidden) == []


def foreseen(done: Done) -> list[tuple[str, str | None]]:
    code = WarningCode.COUNTS_AS_WITHHELD
    return [(one.code, one.pointer) for one in done.outcome.warnings if one.code == code]


@pytest.mark.parametrize(
    ("more", "where", "says"),
    [
        ({"withheld": ["ill"]}, "/withheld/0", "not one of `sensitive`"),
        (LEAST_TWO | {"withheld": ["ill", "grade"]}, "/withheld/1", "not one of `sensitive`"),
        (LEAST_TWO | {"keep": ["ill"], "withheld": ["ill"]}, "/withheld/0", "one of `keep` too"),
        ({"sensitive": ["hours"], "l": 2}, "/sensitive/0", "in `withheld` too"),
        ({"sensitive": ["ill", "nobody"], "l": 2}, "/sensitive/1", "no column"),
        (LEAST_TWO | {"withheld": ["ill"], "statistics": [{"kind": "share", "of": ["ill"]}, *SPEC["statistics"]]},
         "/statistics/0/of/0", "withheld"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_where_it_stands(
    bench: Bench, more: dict[str, Any], where: str, says: str
) -> None:
    _, wrong = bench.accepted(SPEC | more)
    assert [one.pointer for one in wrong] == [where]
    assert says in wrong[0].detail


def test_a_withheld_quasi_identifier_is_published_as_boxes_alone(bench: Bench) -> None:
    rows = bench.run(SPEC | {"sensitive": ["hours"], "l": 3, "withheld": ["hours"]}).rows()
    assert set(rows.columns) == {"box", "age_lo", "age_hi", "hours_lo", "hours_hi"}


def test_a_name_of_the_releases_own_is_refused_of_a_published_one(tmp_path: Path) -> None:
    own = Bench(tmp_path)
    own.dataset("d", patients().rename({"ill": "box"}))
    body = SPEC | {"sensitive": ["box"], "l": 2}
    assert [one.pointer for one in own.accepted(body)[1]] == ["/sensitive/0"]
    assert own.accepted(body | {"withheld": ["box"]})[1] == []


def test_statistics_of_a_published_sensitive_column_are_exact(bench: Bench) -> None:
    done = bench.run(SPEC | LEAST_TWO | {"statistics": [*SPEC["statistics"], {"kind": "share", "of": ["ill"]}]})
    (share,) = (one for one in done.whole["statistics"] if one["kind"] == "share" and one["values"] == ["gout"])
    expected = done.rows()["ill"].drop_nulls().eq("gout").mean()
    assert share["guaranteed"] == pytest.approx([expected, expected])


def old(body: dict[str, Any]) -> dict[str, Any]:
    """A specification as it was stored before sensitive columns were published."""
    stored = BoxesSpec.model_validate(body).model_dump(mode="json")
    return {name: value for name, value in stored.items() if name != "withheld"}


def test_a_job_that_was_accepted_before_runs_as_it_would_have(bench: Bench) -> None:
    spec = BoxesSpec.model_validate(old(SPEC | LEAST_TWO))
    done = Done(spec, bench._outcome(spec, 0, lambda _: None), 0)
    assert "ill" not in done.rows().columns
    assert foreseen(done) == [("counts_as_withheld", "/spec/sensitive/0")]


def based(folder: Path, *, shows: str) -> Bench:
    """A base that shows its sensitive column, withholds it, or is from before it could."""
    made = Bench(folder)
    made.dataset("d", patients())
    more = {"shown": {}, "kept": {"keep": ["ill"]}, "withheld": {"withheld": ["ill"]}, "old": {"withheld": ["ill"]}}
    made.release("r", SPEC | LEAST_TWO | more[shows])
    if shows == "old":
        release = made.releases["r"]
        spec = {name: value for name, value in release.spec.items() if name != "withheld"}
        made.releases["r"] = replace(release, spec=spec)
    return made


@pytest.fixture(scope="module", params=["shown", "kept", "withheld", "old"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, Bench]:
    shows = str(request.param)
    return shows in {"shown", "kept"}, based(tmp_path_factory.mktemp(shows), shows=shows)


def version(made: Bench, **more: Any) -> dict[str, Any]:
    name = made.dataset("v", pl.concat([patients(), patients()]))
    made.datasets[name] = replace(made.datasets[name], earlier=(made.releases["r"],))
    body = {name: SPEC[name] for name in ("method", "quasi_identifiers", "k")}
    return body | {"dataset_id": "v", "previous_release_id": "r"} | more


def later(_made: Bench, **more: Any) -> dict[str, Any]:
    return {"method": "boxes", "quasi_identifiers": ["age"], "k": 9, "base_release_id": "r"} | more


@pytest.mark.parametrize("made_of", [version, later])
def test_what_follows_shows_a_sensitive_column_if_its_base_did(
    base: tuple[bool, Bench], made_of: Callable[..., dict[str, Any]]
) -> None:
    shown, made = base
    done = made.run(made_of(made, **LEAST_TWO))
    assert ("ill" in done.rows().columns) == shown
    assert foreseen(done) == ([] if shown else [("counts_as_withheld", "/spec/sensitive/0")])
    if shown:
        figures = counted(done.rows(), "ill")
        assert done.release is not None
        parameters = done.release.parameters
        shares = parameters["largest_share"]["ill"], parameters["share_above_60_percent"]["ill"]
        assert shares == pytest.approx(figures, abs=1e-12)
    silent = made.run(made_of(made))
    assert ("ill" in silent.rows().columns) == (shown and made_of is version), "a series has what it names"
    assert foreseen(silent) == []


@pytest.mark.parametrize("made_of", [version, later])
def test_what_follows_may_withhold_what_its_base_withheld_and_a_series_more(
    base: tuple[bool, Bench], made_of: Callable[..., dict[str, Any]]
) -> None:
    shown, made = base
    body = made_of(made, **LEAST_TWO, withheld=["ill"])
    if shown and made_of is version:
        _, wrong = made.accepted(body)
        assert [one.pointer for one in wrong] == ["/withheld/0"]
        return
    done = made.run(body)
    assert "ill" not in done.rows().columns
    assert foreseen(done) == []
    _, wrong = made.accepted(made_of(made, keep=["ill"]))
    assert [one.pointer for one in wrong] == ([] if shown else ["/keep/0" if made_of is later else "/keep"])


def test_a_version_continues_by_itself_what_was_made_with_the_same_words(base: tuple[bool, Bench]) -> None:
    _, made = base
    body = version(made, **LEAST_TWO)
    del body["previous_release_id"]
    spec, wrong = made.accepted(body)
    assert wrong == []
    assert spec.model_dump()["previous_release_id"] == "r"


@pytest.mark.parametrize(
    ("before", "shown"), [(None, True), (frozenset(), False), (frozenset({"grade"}), False), (frozenset({"ill"}), True)]
)
def test_a_release_beside_others_shows_what_these_show(
    tmp_path: Path, before: frozenset[str] | None, *, shown: bool
) -> None:
    made = Bench(tmp_path)
    made.datasets["d"] = replace(made.datasets[made.dataset("d", patients())], published_keep=before)
    done = made.run(SPEC | LEAST_TWO)
    assert ("ill" in done.rows().columns) == shown
    assert foreseen(done) == ([] if shown else [("counts_as_withheld", "/spec/sensitive/0")])
    assert "ill" in made.run(SPEC | LEAST_TWO | {"keep": ["ill"]}).rows().columns, "what is kept is published"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sensitive": ["grade"], "l": 2}, False), ({"sensitive": ["grade"], "t": 0.9}, False),
        ({"sensitive": ["grade"], "alpha": 0.95}, False),
        ({"sensitive": ["grade"], "l": 1}, True), ({"sensitive": ["grade"], "t": 1.0}, True),
        ({"sensitive": ["wage"], "l": 3}, True), ({"keep": ["grade"]}, True),
    ],
    ids=str,
)  # fmt: skip
def test_kept_below_k_is_not_said_of_what_a_demand_protects(bench: Bench, more: dict[str, Any], *, said: bool) -> None:
    """Grades of 1, 2 and 3 are not all in five rows of a box; wages are identifiers, whatever l is."""
    done = bench.run(SPEC | more)
    (name,) = more.get("sensitive") or more["keep"]
    least = done.rows().group_by("box", name).len()["len"].min()
    assert least is not None
    assert least < K
    assert ("kept_below_k" in {one.code for one in done.outcome.warnings}) == said
