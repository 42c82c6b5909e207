"""The stories "Two releases that were each safe" and "The one who came last month", with data that were rewritten."""

from collections import Counter
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import released, run, succeed, upload

K = 5


def people(seed: int, rows: int = 400) -> pl.DataFrame:
    """Persons of many ages, so that two such tables have no row in common."""
    draw = np.random.default_rng([231, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 96, rows) + 100 * seed, "hours": draw.integers(1, 80, rows),
        "pay": draw.lognormal(7, 1, rows).round(2), "sex": draw.choice(["Female", "Male"], rows, p=[0.45, 0.55]),
        "ward": draw.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2]),
    })  # fmt: skip


def sent(client: httpx.Client, frame: pl.DataFrame, **query: Any) -> str:
    made: str = upload(client, frame.write_csv(), **query)["id"]
    return made


def boxes(dataset_id: str, *columns: str, k: int = K, **more: Any) -> dict[str, Any]:
    return {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": list(columns), "k": k} | more


def composed(client: httpx.Client, job: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """State of a release, and the finding of its composition."""
    state = client.get(f"/v1/releases/{job['release_id']}").json()["state"]
    findings = [one for one in job["findings"] if one["audit"] == "composition"]
    return state, findings[0] if findings else {"measured": None, "detail": ""}


def places(client: httpx.Client, frame: pl.DataFrame, job: dict[str, Any], columns: list[str]) -> list[int]:
    """The box of every record, by looking at all of them."""
    rows = released(client, job).unique("box").sort("box").to_dicts()

    def inside(record: dict[str, Any], box: dict[str, Any], name: str) -> bool:
        if f"{name}_set" in box:
            return record[name] in box[f"{name}_set"]
        return bool(box[f"{name}_lo"] <= record[name] <= box[f"{name}_hi"])

    return [
        [box["box"] for box in rows if all(inside(record, box, name) for name in columns)][-1]
        for record in frame.iter_rows(named=True)
    ]


REWRITTEN: dict[str, tuple[Any, dict[str, str]]] = {
    "a column renamed": (lambda one: one.rename({"age": "years"}), {"age": "years"}),
    "in months": (lambda one: one.with_columns(pl.col("age") * 12), {}),
    "times a hundred": (lambda one: one.with_columns(pl.col("hours") * 100), {}),
    "negated": (lambda one: one.with_columns(-pl.col("hours")), {}),
    "a letter for a word": (lambda one: one.with_columns(pl.col("sex").str.head(1)), {}),
    "a column dropped": (lambda one: one.drop("ward"), {}),
}


@pytest.mark.parametrize("rewriting", REWRITTEN)
def test_a_second_release_of_rewritten_data_leaves_whom_the_same_data_would_leave(
    client: httpx.Client, rewriting: str
) -> None:
    written, called = REWRITTEN[rewriting]
    frame = people(1 + list(REWRITTEN).index(rewriting))
    columns = ["age", "hours", "sex"]
    first = succeed(client, boxes(sent(client, frame), *columns))
    assert composed(client, first)[0] == "published"
    rewritten = written(frame).sample(fraction=1, shuffle=True, seed=3)
    again = [called.get(name, name) for name in columns]
    second = succeed(client, boxes(sent(client, rewritten), *again, k=7))
    state, finding = composed(client, second)
    assert (state, finding["measured"] is not None) == ("draft", True)
    same = places(client, frame, first, columns), places(client, written(frame), second, again)
    assert finding["measured"] == min(Counter(zip(*same, strict=True)).values())
    spec = {"method": "composition", "release_ids": [one["release_id"] for one in (first, second)]}
    audit = succeed(client, spec, kind="audits")["result"]
    assert (audit["composed_k"], audit["unplaced"], audit["passed"]) == (finding["measured"], 0, False)


def test_two_halves_of_one_table_cannot_be_composed_and_say_so(client: httpx.Client) -> None:
    frame = people(11)
    whole = sent(client, frame)
    left, right = (frame.select(part) for part in (["age", "sex"], ["hours", "pay"]))
    first = succeed(client, boxes(sent(client, left, same_data_as_dataset_id=whole), "age", "sex"))
    second = succeed(client, boxes(sent(client, right, same_data_as_dataset_id=whole), "hours", "pay"))
    state, finding = composed(client, second)
    assert (composed(client, first)[0], state, finding["measured"]) == ("published", "draft", 1)
    assert "400 people" in str(finding)
    for remedy in ("person_column", '"join_columns": {', "version_of_dataset_id", "earlier file"):
        assert remedy in str(finding)
    gate = [{"method": "composition", "require": {"k": 5}}]
    third = succeed(client, boxes(sent(client, right, same_data_as_dataset_id=whole), "hours", "pay", k=6, gate=gate))
    assert (composed(client, third)[0], composed(client, third)[1]["measured"]) == ("draft", 1)
    spec = {"method": "composition", "release_ids": [one["release_id"] for one in (first, second)]}
    audit = succeed(client, spec, kind="audits")["result"]
    assert (audit["composed_k"], audit["unplaced"], audit["passed"]) == (1, 400, False)
    ids = pl.int_range(400, eager=True).sample(400, shuffle=True, seed=5).alias("id") * 7
    named = [sent(client, part.with_columns(ids), same_data_as_dataset_id=whole) for part in (left, right)]
    one = succeed(client, boxes(named[0], "age", "sex", person_column="id", accept_findings=["composition"]))
    other = succeed(client, boxes(named[1], "hours", "pay", person_column="id", accept_findings=["composition"]))
    spec = {"method": "composition", "release_ids": [one["release_id"], other["release_id"]], "person_column": "id"}
    audit = succeed(client, spec, kind="audits")["result"]
    both = places(client, left, one, ["age", "sex"]), places(client, right, other, ["hours", "pay"])
    assert (audit["composed_k"], audit["unplaced"]) == (min(Counter(zip(*both, strict=True)).values()), 0)


def test_a_column_in_classes_is_told_by_a_mapping(client: httpx.Client) -> None:
    """Without it nothing says that decades are ages; with it that is looked at, and found to be so."""
    draw = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"age": draw.integers(20, 80, 300), "town": draw.choice(["a", "b"], 300), "n": draw.integers(0, 4, 300)}
    )
    decades = frame.select((pl.col("age") // 10 * 10).alias("decade"), "town", "n")
    whole = sent(client, frame)
    first = succeed(client, boxes(whole, "age", "n"))
    later = sent(client, decades, same_data_as_dataset_id=whole)
    blind = succeed(client, boxes(later, "decade", "town"))
    assert composed(client, blind)[1]["measured"] == 1
    wrong = [{"method": "composition", "require": {"k": 1}, "join_columns": {"age": "town"}}]
    assert composed(client, succeed(client, boxes(later, "decade", "town", gate=wrong)))[1]["measured"] == 1
    right = [{"method": "composition", "require": {"k": 1}, "join_columns": {"age": "decade"}}]
    mapped = succeed(client, boxes(later, "decade", "town", gate=right))
    both = places(client, frame, first, ["age", "n"]), places(client, decades, mapped, ["decade", "town"])
    assert composed(client, mapped)[1]["measured"] == min(Counter(zip(*both, strict=True)).values())
    unknown = [{"method": "composition", "require": {"k": 1}, "join_columns": {"age": "nowhere"}}]
    assert composed(client, succeed(client, boxes(later, "decade", "town", gate=unknown)))[1]["measured"] == 1


def test_who_was_a_person_once_is_a_person_for_ever(client: httpx.Client) -> None:
    frame = people(12, 600).with_columns((pl.int_range(600) // 4).alias("home") * 3)
    dataset_id = sent(client, frame)
    first = succeed(client, boxes(dataset_id, "age", "hours", person_column="home"))
    assert composed(client, first)[0] == "published"
    second = succeed(client, boxes(dataset_id, "age", "pay"))
    state, finding = composed(client, second)
    inside = zip(
        places(client, frame, first, ["age", "hours"]),
        places(client, frame, second, ["age", "pay"]),
        frame["home"],
        strict=True,
    )
    homes = Counter(box[:2] for box in set(inside))
    assert (state, finding["measured"]) == ("draft", min(homes.values()))
    assert "`home`" in str(finding)
    renamed = succeed(client, boxes(sent(client, frame.rename({"home": "household"})), "age", "pay"))
    assert "`household`" in str(composed(client, renamed)[1])
    without = succeed(client, boxes(sent(client, frame.drop("home")), "age", "hours"))
    stands = [one["detail"] for one in without["findings"]]
    assert any("`home`" in one and "does not have" in one for one in stands)
    assert composed(client, without)[0] == "draft"


@pytest.mark.parametrize("with_id", [False, True])
def test_one_kept_value_that_changed_is_no_new_table(client: httpx.Client, *, with_id: bool) -> None:
    """All rows of two releases are the same but one: it is the person's whose value has changed."""
    frame = people(14 + with_id)
    if with_id:
        frame = frame.with_columns(pl.int_range(400).sample(400, shuffle=True, seed=2).alias("id") * 11)
    options = {"keep": ["ward"], **({"person_column": "id"} if with_id else {})}
    changed = frame.with_columns(
        pl.when(pl.int_range(400) == 123).then(pl.lit("c")).otherwise("ward").alias("ward"),
    )
    changed = (
        changed
        if not changed.equals(frame)
        else frame.with_columns(pl.when(pl.int_range(400) == 123).then(pl.lit("a")).otherwise("ward").alias("ward"))
    )
    before = sent(client, frame)
    assert composed(client, succeed(client, boxes(before, "age", "hours", **options)))[0] == "published"
    state, finding = composed(client, succeed(client, boxes(sent(client, changed), "age", "hours", **options)))
    assert (state, finding["measured"]) == ("draft", 1)
    assert "version_of_dataset_id" in str(finding)


def test_a_table_that_grows_is_published_as_a_version_and_not_as_a_table_of_its_own(client: httpx.Client) -> None:
    frame, more = people(16), people(16, 440).tail(40)
    domains = {"age": [0, 3000], "hours": [0, 100]}
    before = sent(client, frame)
    first = succeed(client, boxes(before, "age", "hours", domains=domains))
    grown = pl.concat([frame, more])
    fresh = succeed(client, boxes(sent(client, grown), "age", "hours", domains=domains))
    state, finding = composed(client, fresh)
    old, new = places(client, frame, first, ["age", "hours"]), places(client, grown, fresh, ["age", "hours"])
    truth = min(Counter(zip(old + [-1] * 40, new, strict=True)).values())
    assert (state, finding["measured"], truth < K) == ("draft", truth, True)
    assert "version_of_dataset_id" in str(finding)
    version = succeed(client, boxes(sent(client, grown, version_of_dataset_id=before), "age", "hours", domains=domains))
    assert composed(client, version) == ("published", {"measured": None, "detail": ""})


def test_the_audit_counts_persons_whom_the_family_knows(client: httpx.Client) -> None:
    """Not only by the column that the audited release itself counts by: this one names none."""
    home = pl.int_range(200, eager=True).alias("home") // 4
    frame = people(21, 200).with_columns((home * 3 + 1).alias("home"), (home + 2_100).alias("age"))
    dataset_id = sent(client, frame)
    succeed(client, boxes(dataset_id, "age", "hours", person_column="home"))
    later = succeed(client, boxes(dataset_id, "age", least_widths="none"))
    homes = Counter(box for box, _ in set(zip(places(client, frame, later, ["age"]), frame["home"], strict=True)))
    spec = {"method": "composition", "release_ids": [later["release_id"]], "k_required": K}
    audit = succeed(client, spec, kind="audits")["result"]
    assert (audit["composed_k"], audit["passed"]) == (min(homes.values()), min(homes.values()) >= K)
    assert min(homes.values()) < K


def test_the_same_file_read_otherwise_is_not_what_was_released(client: httpx.Client) -> None:
    """After its dataset was deleted: every record would be outside of all boxes, and so among all the others."""
    frame = people(20)
    before = sent(client, frame)
    assert composed(client, succeed(client, boxes(before, "age", "hours")))[0] == "published"
    assert client.delete(f"/v1/datasets/{before}").status_code == 204
    again = sent(client, frame, type="age:string")
    state, finding = composed(client, succeed(client, boxes(again, "hours", "sex")))
    assert (state, finding["measured"]) == ("draft", 1)


def test_a_first_uncertain_release_leaves_what_it_promises(client: httpx.Client) -> None:
    dataset_id = sent(client, people(17))
    job = run(
        client, {"method": "uncertain", "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours", "pay"], "k": 10}
    )
    family_id = client.get(f"/v1/datasets/{dataset_id}").json()["family_id"]
    (published,) = client.get(f"/v1/families/{family_id}").json()["published"]
    assert published["release_id"] == job["release_id"]
    assert published["composition"]["composed_k"] >= 10 * 0.99


def test_boxes_beside_noise_do_not_hide_behind_another_name(client: httpx.Client) -> None:
    frame = people(18)
    first = sent(client, frame)
    succeed(client, {"method": "uncertain", "dataset_id": first, "quasi_identifiers": ["age", "hours"], "k": 10})
    control = succeed(client, boxes(first, "age", "hours", k=10))
    other = succeed(client, boxes(sent(client, frame.rename({"age": "years"})), "years", "hours", k=10))
    figures = [composed(client, one)[1]["measured"] for one in (control, other)]
    assert figures[0] is not None
    assert figures[0] < 10
    assert figures[1] == pytest.approx(figures[0], rel=0.5)
    assert composed(client, other)[0] == "draft"


def test_a_delivery_that_nobody_declared_is_asked_about_although_k_holds(client: httpx.Client) -> None:
    frame, more = people(19), people(19, 560).tail(160)
    succeed(client, boxes(sent(client, frame), "sex"))
    job = succeed(client, boxes(sent(client, pl.concat([frame, more])), "sex"))
    (finding,) = job["findings"]
    assert (composed(client, job)[0], finding["severity"], finding["audit"]) == ("published", "medium", "composition")
    assert "(160 people are in these data only, 0 in earlier ones only)" in str(finding["remedies"])
    assert "version_of_dataset_id" in str(finding)
