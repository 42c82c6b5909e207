"""Certain counts of what a release cannot tell apart: merged values, classes, other spellings, values of nobody."""

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import httpx
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import InfeasibleError, InvalidError
from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import question
from tests.drawing import examples
from tests.methods.asking import anonymization, released, succeed, upload
from tests.methods.in_process import Bench

TREE = [["Oslo", "north", "*"], ["Umeå", "north", "*"], ["Rom", "south", "*"], ["Bari", "south", "*"]]


def soldiers() -> pl.DataFrame:
    """196 clerks, 200 nurses and 204 cooks of four towns, and three soldiers."""
    job = ["clerk"] * 196 + ["nurse"] * 200 + ["cook"] * 204 + ["soldier"] * 3
    draw = random.Random(7)
    towns = [row[0] for row in TREE]
    rows = [(one, draw.randrange(18, 80), draw.choice(towns), draw.choice([1, 2])) for one in job]
    return pl.DataFrame(rows, ["job", "age", "town", "code"], orient="row")


@pytest.fixture(scope="module")
def release(client: httpx.Client) -> tuple[str, pl.DataFrame, pl.DataFrame]:
    """Towns by a declared hierarchy, codes by a declared codebook, jobs as the data have them."""
    frame = soldiers()
    dataset = upload(client, frame.write_csv())
    nominal = {"town": {"hierarchy": {"rows": TREE}}, "code": {"values": [1, 2, 3]}}
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["job", "age", "town", "code"], "k": 5}
    job = succeed(client, spec | {"nominal": nominal, "max_suppressed_classes": 0.0})
    return job["release_id"], frame, released(client, job)


def ask(client: httpx.Client, release_id: str, *queries: Mapping[str, Any]) -> httpx.Response:
    return client.post(f"/v1/releases/{release_id}/count", json={"queries": queries})


def certain(client: httpx.Client, release_id: str, **values: Sequence[Any]) -> list[int]:
    answer = ask(client, release_id, {name: {"values": list(some)} for name, some in values.items()})
    assert answer.status_code == httpx.codes.OK, answer.text
    (count,) = answer.json()["counts"]
    low, high = count["guaranteed"]
    assert low <= count["estimate"] <= high
    return [low, high]


def test_what_others_hides_is_in_the_upper_end(
    client: httpx.Client, release: tuple[str, pl.DataFrame, pl.DataFrame], figures: Callable[..., None]
) -> None:
    release_id, frame, rows = release
    hidden = sum("other" in members for members in rows["job_set"].to_list())
    shown = {value for members in rows["job_set"].to_list() for value in members}
    for value in ("soldier", "clerk", "cook", "zoologist", "1"):
        low, high = certain(client, release_id, job=[value])
        assert low <= (frame["job"] == value).sum() <= high
        if value not in shown:
            assert [low, high] == [0, hidden], "the release cannot tell it from the others that are not shown"
    merged = certain(client, release_id, job=[{"class": "other"}])
    assert 0 < merged[0] <= frame["job"].is_in(["soldier", "clerk"]).sum() <= merged[1] == hidden
    assert certain(client, release_id, job=["other"]) == [0, hidden], "a value of this name may be one of them"
    everything = certain(client, release_id, job=[*frame["job"].unique()])
    assert everything[0] <= rows.height <= everything[1]
    figures(records_that_a_hidden_value_may_have=hidden)


def test_a_handful_takes_no_frequent_value_along(client: httpx.Client) -> None:
    """Three soldiers are left out, and no clerk loses a value; without leave to do so the least frequent one goes."""
    frame = soldiers().with_columns(age=pl.col("age") + 1)
    dataset = upload(client, frame.write_csv())
    spec = anonymization("boxes", dataset["id"], ["job", "age"], k=5, publish="draft")
    job = succeed(client, spec)
    result = job["result"]
    assert (result["released"], result["suppressed"]) == (600, {"missing": 0, "rare": 0, "rare_class": 3})
    rows = released(client, job)
    assert {value for members in rows["job_set"].to_list() for value in members} == {"clerk", "nurse", "cook"}
    warnings = {one["code"]: one for one in job["warnings"]}
    assert "3 records are left out" in warnings["rare_values_left_out"]["detail"]
    assert "max_suppressed_classes" in warnings["rare_values_left_out"]["detail"]
    assert "soldier" not in str(job["warnings"])
    shown = client.get(f"/v1/releases/{job['release_id']}").json()
    assert not {"rare_values_left_out", "values_merged"} & {one["code"] for one in shown["warnings"]}
    job = succeed(client, spec | {"max_suppressed_classes": 0.004})
    assert (job["result"]["released"], job["result"]["suppressed"]["rare_class"]) == (603, 0)
    warnings = {one["code"]: one for one in job["warnings"]}
    assert "2 values of column 'job'" in warnings["values_merged"]["detail"]
    assert "199 records, a share of 0.33" in warnings["values_merged"]["detail"]
    assert warnings["values_merged"]["pointer"] == "/spec/quasi_identifiers/0"


def test_a_class_means_its_values_and_a_text_the_number(
    client: httpx.Client, release: tuple[str, pl.DataFrame, pl.DataFrame]
) -> None:
    release_id, frame, rows = release
    assert certain(client, release_id, town=["north"]) == certain(client, release_id, town=["Oslo", "Umeå"])
    assert certain(client, release_id, town=["*"]) == [rows.height] * 2
    assert certain(client, release_id, code=["1"]) == certain(client, release_id, code=[1])
    assert certain(client, release_id, code=[3])[0] == 0, "declared, and nobody's: some box may allow it"
    low, high = certain(client, release_id, town=["south"], code=["2", 1.0])
    truth = frame.filter(pl.col("town").is_in(["Rom", "Bari"])).height
    assert 0 < low <= truth <= high


def test_what_a_declared_codebook_does_not_have_is_refused_where_it_stands(
    client: httpx.Client, release: tuple[str, pl.DataFrame, pl.DataFrame]
) -> None:
    release_id, _, _ = release
    answer = ask(client, release_id, {}, {"town": {"values": ["Oslo", "Olso"]}, "code": {"values": [7]}})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    errors = {error["pointer"]: error["detail"] for error in answer.json()["errors"]}
    assert set(errors) == {"/queries/1/town/values/1", "/queries/1/code/values/0"}
    assert "did you mean 'Oslo'" in errors["/queries/1/town/values/1"]
    assert "1, 2, 3" in errors["/queries/1/code/values/0"].replace("'", "")
    statistic = {"kind": "share", "of": ["town"], "values": ["nroth"]}
    answer = client.post(f"/v1/releases/{release_id}/statistics", json={"statistics": [statistic]})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/statistics/0/values/0"]
    assert "'north'" in answer.json()["errors"][0]["detail"]


def test_shares_and_means_within_values_are_as_careful(
    client: httpx.Client, release: tuple[str, pl.DataFrame, pl.DataFrame]
) -> None:
    release_id, frame, rows = release
    of = [("job", "soldier"), ("job", "zoologist"), ("job", "clerk"), ("town", "south"), ("code", "2"), ("code", 3)]
    statistics: list[dict[str, Any]] = [{"kind": "share", "of": [name], "values": [value]} for name, value in of]
    statistics += [{"kind": "domain_mean", "of": ["age", name], "values": [value]} for name, value in of]
    answer = client.post(f"/v1/releases/{release_id}/statistics", json={"statistics": statistics})
    assert answer.status_code == httpx.codes.OK, answer.text
    towns = {"south": ["Rom", "Bari"]}
    for one, said in zip(statistics, answer.json()["statistics"], strict=True):
        inside = (
            frame[one["of"][-1]]
            .cast(pl.String)
            .is_in([str(v) for v in towns.get(str(one["values"][0]), one["values"])])
        )
        if one["kind"] == "share":
            assert said["guaranteed"][0] <= inside.mean() <= said["guaranteed"][1], one
        elif not inside.any():
            assert said["domain_may_be_empty"], one
        else:
            assert said["guaranteed"][0] <= frame.filter(inside)["age"].mean() <= said["guaranteed"][1], one
    (low, high) = certify(rows, ["share(job=soldier)"])[0]["guaranteed"]
    hidden = sum("other" in members for members in rows["job_set"].to_list())
    assert (low, high) == (0.0, pytest.approx(hidden / rows.height))
    with pytest.raises(UnreadableError, match="may be a class"):
        certify(rows, ["share(town=north)"])
    nominal = {"town": {"hierarchy": {"rows": TREE}}}
    assert certify(rows, ["share(town=north)"], nominal=nominal) == [
        {**each, "values": ["north"]} for each in certify(rows, ["share(town=Oslo|Umeå)"])
    ]


# ---- any release, any question

WORDS = ["a", "b", "c", "other", "é", "1", "01", "true"]
GROUPS = {"north": ["a", "b", "c"], "south": ["other", "é", "1"], "b": ["01", "true"], "*": WORDS}
LEAVES = [[word, next(name for name in GROUPS if word in GROUPS[name]), "*"] for word in WORDS]
STRANGE: list[Any] = ["A", "zz", "", 1, 1.0, True, "north", "b", "*", None, "2.0", 2, "0"]
STRANGE += [{"value": "b"}, {"class": "b"}, {"value": "other"}, {"class": "north"}, {"value": None}, {"value": 1.0}]


@st.composite
def releases(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table, and how it is to be released."""
    rows = draw(st.integers(12, 60))
    chance = random.Random(draw(st.integers(0, 2**32)))
    frequent = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
    rare = draw(st.sampled_from([0.0, 0.05, 0.3]))
    gaps = draw(st.sampled_from([0.0, 0.2]))
    word = [chance.choice(WORDS if chance.random() < rare else frequent) for _ in range(rows)]
    frame = pl.DataFrame({
        "word": [None if chance.random() < gaps else one for one in word],
        "age": [chance.randrange(0, 9) for _ in range(rows)],
        "flag": [chance.random() < 0.3 for _ in range(rows)],
        "step": [chance.choice(["low", "mid", "top"]) for _ in range(rows)],
        "code": [chance.choice([1, 2, 5]) for _ in range(rows)],
        "design": [chance.choice([0.5, 1.0, 3.0]) for _ in range(rows)],
        "kept": [chance.choice("xy") for _ in range(rows)],
    })  # fmt: skip
    book: dict[str, Any] = draw(
        st.sampled_from([{}, {"values": [*WORDS, "nobody's"]}, {"hierarchy": {"rows": LEAVES}}])
    )
    missing = draw(st.sampled_from(["drop", "pattern", "value"]))
    if missing == "value" and not 0 < frame["word"].null_count() < 4:
        book = book | ({"values": [*WORDS, None]} if "values" in book else {"missing_is_value": True})
    spec = {
        "method": "boxes", "dataset_id": "t", "quasi_identifiers": ["word", "age", "flag", "step", "code"],
        "k": draw(st.integers(1, 4)), "statistics": [{"kind": "mean", "of": ["age"], "weight": 1.0}],
        "nominal": {"word": book, "code": {"values": [1, 2, 3, 5]}}, "ordinal": {"step": ["none", "low", "mid", "top"]},
        "missing_policy": "drop" if missing == "value" else missing,
        "bounds": draw(st.sampled_from(["cells", "tight"])),
        "rare_records": draw(st.sampled_from(["keep", "mark"])), "keep": draw(st.sampled_from([[], ["kept"]])),
        "survey_weight_column": draw(st.sampled_from([None, "design"])),
        "max_suppressed_classes": draw(st.sampled_from([0.0, 0.02, 0.1])),
    }  # fmt: skip
    return frame, spec


def has(cell: Any, value: Any) -> bool:
    """Whether a record has a value, or one of the class, that a question names."""
    if cell is None or value is None:
        return cell is value
    if isinstance(cell, bool):
        return str(value).lower() in (["true", "1", "1.0"] if cell else ["false", "0", "0.0"])
    if isinstance(cell, int):
        return not isinstance(value, bool) and str(value) in {str(cell), f"{cell}.0"}
    spelt = {str(value).lower() if isinstance(value, bool) else str(value), str(value).removesuffix(".0")}
    return cell in ({value} if isinstance(value, str) else spelt)


def names(cell: Any, value: Any, spec: Mapping[str, Any], column: str, shown: Sequence[Any] = ()) -> set[bool]:
    """Every way in which a record can be said to have what is named: it is a value, if there is one, else a class.

    To a reader who has the file alone what it shows as a value is that value.
    """
    rows = spec["nominal"].get(column, {}).get("hierarchy", {}).get("rows", ())
    if isinstance(value, dict) and "class" in value:
        return {any(row[0] == cell and value["class"] in row[1:] for row in rows)}
    if isinstance(value, dict):
        return {has(cell, value["value"])}
    is_class = isinstance(value, str) and any(value in row[1:] for row in rows) and value not in shown
    if is_class and not any(row[0] == value for row in rows):
        return {any(row[0] == cell and value in row[1:] for row in rows)}
    return {has(cell, value)}


def truths(frame: pl.DataFrame, spec: Mapping[str, Any], query: Mapping[str, Any]) -> tuple[int, int]:
    """Least and most records in a query, over all ways to read it."""
    least = most = 0
    for row in frame.iter_rows(named=True):
        ways = []
        for name, condition in query.items():
            if isinstance(condition, list):
                inside = row[name] is not None and condition[0] <= row[name] <= condition[1]
                ways.append({inside})
            else:
                each = [names(row[name], value, spec, name) for value in condition["values"]]
                ways.append({any(chosen) for chosen in itertools.product(*each)})
        least += all(way == {True} for way in ways)
        most += all(True in way for way in ways)
    return least, most


def accepted(bench: Bench, body: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a question; None where it is refused because a codebook has no such value, or shows none."""
    try:
        return bench.run(body).whole
    except InvalidError as error:
        if not any(
            words in error.detail for words in ("is no value of", "is no class of", "has no classes", "is shown")
        ):
            raise
        return None


def values(chance: random.Random, spec: Mapping[str, Any], column: str, count: int) -> list[Any]:
    own: Iterable[Any] = {
        "word": WORDS,
        "flag": [True, False, "true"],
        "step": ["low", "mid", "none"],
        "code": [1, "2", 3, 5.0],
    }[column]
    chosen = chance.choices([*own, *STRANGE], k=count)
    return list({(isinstance(v, bool), repr(v) if isinstance(v, dict) else v): v for v in chosen}.values())


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(made=releases(), seed=st.integers(0, 2**32))
def test_no_release_answers_any_question_falsely(
    made: tuple[pl.DataFrame, dict[str, Any]], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame, spec = made
    bench, chance = Bench(tmp_path_factory.mktemp("any"), seed=seed % 1000), random.Random(seed)
    bench.dataset("t", frame)
    wrong = bench.accepted(spec)[1]
    if wrong:
        return
    try:
        done = bench.run(spec)
    except InfeasibleError:  # too many records have rare values: nothing is released
        return
    bench.keep("r", done)
    about = frame if spec["missing_policy"] == "pattern" or "missing" in str(spec["nominal"]["word"]) or None in (
        spec["nominal"]["word"].get("values") or []
    ) else frame.drop_nulls("word")  # fmt: skip
    about = about if done.rows().height == about.height else _listed(about, done.rows())
    assert done.rows().height == about.height
    for _ in range(30):
        query: dict[str, Any] = {}
        for column in chance.sample(["word", "word", "flag", "step", "code", "age"], chance.randrange(1, 4)):
            low = chance.randrange(9)
            some = {"values": values(chance, spec, column, chance.randrange(1, 4))} if column != "age" else None
            query[column] = some or [low, chance.randrange(low, 10)]
        answer = accepted(bench, {"method": "count", "release_id": "r", "queries": [query]})
        if answer is not None:
            (count,) = answer["counts"]
            least, most = truths(about, spec, query)
            assert count["guaranteed"][0] <= least <= most <= count["guaranteed"][1], (query, count)
    _statistics_hold(bench, about, spec, chance, done.rows())


def _listed(about: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The records with a value that the release lists: few others are left out where nothing stands under `other`."""
    shown = {value for members in rows["word_set"].to_list() for value in members or ()}
    assert "other" not in shown or "other" in about["word"].to_list()
    return about.filter(pl.col("word").is_null() | pl.col("word").is_in(list(shown)))


def _statistics_hold(
    bench: Bench, about: pl.DataFrame, spec: Mapping[str, Any], chance: random.Random, rows: pl.DataFrame
) -> None:
    """Shares, means within values and cells, of the service and of whoever has the file alone."""
    weight = about["design"].to_list() if spec["survey_weight_column"] else [1.0] * about.height
    for _ in range(12):
        column = chance.choice(["word", "flag", "step", "code"])
        some = values(chance, spec, column, chance.randrange(1, 3))
        if spec["survey_weight_column"] and spec["bounds"] == "tight":
            continue
        for kind, of in (("share", [column]), ("domain_mean", ["age", column])):
            statistic = {"kind": kind, "of": of, "values": some}
            answer = accepted(bench, {"method": "statistics", "release_id": "r", "statistics": [statistic]})
            if answer is not None:
                _holds(answer["statistics"][0], about, spec, weight)
            if column != "step" and not spec["survey_weight_column"]:
                nominal = spec["nominal"] if chance.random() < 0.5 else None
                try:
                    (offline,) = certify(rows, [question(statistic)], nominal=nominal, weight=False)
                except UnreadableError:
                    continue
                shown = {value for members in rows[f"{column}_set"].to_list() for value in members or ()}
                _holds(offline, about, spec, weight, [] if nominal else [*shown])


def _holds(
    said: Mapping[str, Any],
    about: pl.DataFrame,
    spec: Mapping[str, Any],
    weight: Sequence[float],
    shown: Sequence[Any] = (),
) -> None:
    column = said["of"][-1]
    there = [value is not None or not _apart(spec) for value in about[column].to_list()]
    ways = [
        {
            any(chosen)
            for chosen in itertools.product(*(names(cell, value, spec, column, shown) for value in said["values"]))
        }
        for cell in about[column].to_list()
    ]
    for reading in (min, max):
        inside = [reading(way) and is_there for way, is_there in zip(ways, there, strict=True)]
        mass = [w * i for w, i in zip(weight, inside, strict=True)]
        if said["kind"] == "share":
            truth = sum(mass) / sum(w * t for w, t in zip(weight, there, strict=True))
            if said["guaranteed"] is None:
                continue
        elif not any(inside):
            assert said["domain_may_be_empty"] or said["guaranteed"] is None, said
            continue
        else:
            truth = sum(m * age for m, age in zip(mass, about["age"].to_list(), strict=True)) / sum(mass)
        low, high = said["guaranteed"]
        assert low - 1e-9 <= truth <= high + 1e-9, (said, truth)


def _apart(spec: Mapping[str, Any]) -> bool:
    """Whether records without a value stand in boxes of their own: statistics are about the others."""
    return spec["missing_policy"] == "pattern"
