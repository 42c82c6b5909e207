"""Where all persons of a family were in all of its releases, against looking each of them up by hand.

Boxes are told by the links of the releases, which the code under test does not read, and persons by the order in which
these tests make them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.families import FamilyComposition
from tests.methods.in_process import Bench
from workers.frames.ledger import write_ledger
from workers.methods.context import InputFile
from workers.methods.released.composed import composed_with, finding
from workers.methods.released.earlier import Earlier, FamilyTerms
from workers.methods.released.release_exposure import linked_scale, write_exposure

KEY = bytes(range(32))
ROWS = 240


def people(seed: int = 1, rows: int = ROWS, *, coarse: bool = False) -> pl.DataFrame:
    draw = np.random.default_rng([230, seed])
    months = draw.integers(18, 60 if coarse else 80, rows)
    return pl.DataFrame({
        "age": months, "hours": draw.integers(1, 9 if coarse else 60, rows),
        "wage": draw.integers(1, 5, rows) * 100.0 if coarse else draw.lognormal(3, 1, rows),
        "sex": draw.choice(["Female", "Male"], rows, p=[0.4, 0.6]), "level": draw.choice(["lo", "mid", "top"], rows),
        "ill": draw.choice(["no", "yes"], rows, p=[0.7, 0.3]),
    })  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A release, what is kept of it, and the box of each record of its table: -1 for none."""

    name: str
    dataset: str
    spec: dict[str, Any]
    ledger: Path
    persons: Path
    box: np.ndarray
    scale: Any = None


class Houses:
    """Releases of tables, by name."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)

    def path(self, dataset: str) -> Path:
        return self.bench.files[InputFile.DATASET, dataset]

    def release(self, name: str, frame: pl.DataFrame, dataset: str | None = None, **spec: Any) -> Made:
        dataset = dataset or f"data-{name}"
        if dataset not in self.bench.datasets:
            self.bench.dataset(dataset, frame)
        body = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "hours"], "k": 4} | spec
        self.bench.release(name, body, seed=len(name))
        released = self.bench.files[InputFile.RELEASE, name]
        link = self.bench.files.get((InputFile.LINK, name))
        ledger, persons = (self.bench.folder / f"{name}.{kind}" for kind in ("ledger", "persons"))
        write_ledger(released, ledger, method=body["method"], spec=body)
        scale, box = None, np.full(len(frame), -1)
        rows = pl.read_parquet(released)
        if body["method"] == "uncertain":
            assert link is not None
            scale = linked_scale(released, body["quasi_identifiers"], link, self.path(dataset))
        else:
            box = by_hand(frame, rows, body)
        write_exposure(
            self.path(dataset), ledger, persons, terms=FamilyTerms(key=KEY, under="key", persons=self.known(frame)),
            scale=scale,
        )  # fmt: skip
        return Made(name, dataset, body, ledger, persons, box, scale)

    @staticmethod
    def known(frame: pl.DataFrame) -> dict[str, str | None]:
        return {"id": None} if "id" in frame.columns else {}

    def composed(self, today: Made, *before: Made, kept: bool = True, **terms: Any) -> FamilyComposition:
        frame = pl.read_parquet(self.path(today.dataset))
        defaults = FamilyTerms(dataset_id=today.dataset, key=KEY, under="key", persons=self.known(frame))
        earlier = [
            Earlier(
                one.name, one.spec["method"], one.ledger, dataset_id=one.dataset,
                dataset=self.path(one.dataset) if kept else None, persons=one.persons, key=KEY,
            )
            for one in before
        ]  # fmt: skip
        return composed_with(
            self.path(today.dataset), today.spec, today.ledger, earlier, rng=np.random.default_rng(0),
            terms=replace(defaults, **terms), scale=today.scale,
        )  # fmt: skip


def by_hand(frame: pl.DataFrame, rows: pl.DataFrame, spec: dict[str, Any]) -> np.ndarray:
    """The box of each record, by looking at all of them; counted kept values are a part of it."""
    counted = spec.get("keep", []) if spec.get("k_counts_kept") else []
    boxes = rows.unique(["box", *counted]).sort("box").to_dicts()
    orders = spec.get("ordinal", {})

    def within(value: Any, box: dict[str, Any], name: str) -> bool:
        if f"{name}_set" in box:
            return value in box[f"{name}_set"]
        ends = box[f"{name}_lo"], box[f"{name}_hi"]
        if value is None or None in ends:
            return value is None and ends == (None, None)
        low, at, high = (orders[name].index(one) if name in orders else one for one in (ends[0], value, ends[1]))
        return bool(low <= at <= high)

    box_numbers = []
    for record in frame.iter_rows(named=True):
        inside = [
            box["box"]
            for box in boxes
            if all(within(record[c], box, c) for c in spec["quasi_identifiers"])
            and all(record[c] == box[c] for c in counted)
        ]
        box_numbers.append(inside[-1] if inside else -1)
    return np.array(box_numbers)


def smallest(*places: dict[int, int]) -> int:
    """Persons of the smallest group, by the place of each person in each release; who is nowhere is in no group."""
    everybody = set().union(*places)
    tuples = Counter(tuple(one.get(person, -1) for one in places) for person in everybody)
    return min(size for group, size in tuples.items() if set(group) != {-1})


def of(made: Made, persons: Any = None) -> dict[int, int]:
    who = range(len(made.box)) if persons is None else persons
    return {person: int(box) for person, box in zip(who, made.box, strict=True)}


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Houses:
    return Houses(tmp_path_factory.mktemp("houses"))


Rewritten = Callable[[pl.DataFrame], pl.DataFrame]
REWRITINGS: dict[str, tuple[Rewritten, dict[str, str]]] = {
    "as it was": (lambda one: one, {}),
    "renamed": (lambda one: one.rename({"age": "years", "hours": "week"}), {"age": "years", "hours": "week"}),
    "in months": (lambda one: one.with_columns(pl.col("age") * 12), {}),
    "times a hundred": (lambda one: one.with_columns(pl.col("hours") * 100.0), {}),
    "negated and renamed": (
        lambda one: one.with_columns(-pl.col("age").alias("minus")).drop("age"), {"age": "minus"},
    ),
    "sex as a letter": (lambda one: one.with_columns(pl.col("sex").str.head(1)), {}),
    "all at once": (
        lambda one: one.with_columns(
            pl.col("age") * 12, pl.col("hours") * -7, pl.col("wage") / 1000, pl.col("sex").str.head(1)
        ),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("coarse", [False, True], ids=["fine", "coarse"])
@pytest.mark.parametrize("rewriting", REWRITINGS)
def test_who_was_where_does_not_hang_on_how_values_are_written(houses: Houses, rewriting: str, *, coarse: bool) -> None:
    written, called = REWRITINGS[rewriting]
    label = f"{rewriting} {coarse}".replace(" ", "-")
    before = people(2, coarse=coarse)
    order = np.random.default_rng(3).permutation(ROWS)
    today = written(before[order.tolist()])
    columns = [called.get(name, name) for name in ("age", "hours")]
    first = houses.release(f"a-{label}", before, quasi_identifiers=["age", "sex"])
    noisy = houses.release(f"b-{label}", before, f"data-a-{label}", quasi_identifiers=["hours", "level"])
    last = houses.release(f"c-{label}", today, quasi_identifiers=columns, k=6)
    truth = smallest(of(first), of(noisy), of(last, order))
    composition = houses.composed(last, first, noisy)
    assert (composition.composed_k, composition.overlay) == (truth, truth)
    assert (composition.unplaced, composition.exact) == (0, True)
    assert (composition.new, composition.left, composition.changed) == (0, 0, None)
    gone = houses.composed(last, first, noisy, kept=False)
    assert (gone.composed_k, gone.unplaced > 0) in {(truth, False), (1, True)}
    if rewriting in {"as it was", "renamed"}:
        assert gone.composed_k == truth


def test_a_column_that_is_gone_leaves_the_others_to_tell_by(houses: Houses) -> None:
    before = people(4)
    first = houses.release("wide", before, quasi_identifiers=["age", "wage"])
    narrow = houses.release("narrow", before.drop("age"), quasi_identifiers=["hours", "wage"])
    assert houses.composed(narrow, first).composed_k == smallest(of(first), of(narrow))
    without = houses.composed(narrow, first, kept=False)
    assert (without.composed_k, without.unplaced) == (1, ROWS)
    parts = houses.release("part", before.select("hours", "level"), quasi_identifiers=["hours", "level"])
    other = houses.release("other", before.select("age", "wage"), quasi_identifiers=["age", "wage"])
    assert (houses.composed(other, parts).composed_k, houses.composed(other, parts).unplaced) == (1, ROWS)


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "gone"])
def test_those_who_came_and_those_who_left_are_persons_too(houses: Houses, *, kept: bool) -> None:
    before, more = people(5), people(6, 60)
    first = houses.release(f"before-{kept}", before)
    grown = houses.release(f"grown-{kept}", pl.concat([before, more]), k=6)
    composition = houses.composed(grown, first, kept=kept)
    assert composition.composed_k == smallest(of(first), of(grown))
    assert (composition.new, composition.left, composition.unplaced) == (60, 0, 0)
    fewer = houses.release(f"fewer-{kept}", before.head(200), k=6)
    composition = houses.composed(fewer, first, grown, kept=kept)
    assert composition.overlay == smallest(of(first), of(grown), of(fewer))
    assert (composition.left, composition.unplaced) == (100, 0)


def test_one_who_stayed_is_alone_whoever_came(houses: Houses) -> None:
    """Four of a box of five have left and twenty have come: it is one who is hidden there, not twenty-one."""
    stay = pl.DataFrame({"age": [20] * 5 + [50] * 30, "hours": [10] * 5 + [40] * 30, "id": range(35)})
    today = pl.DataFrame(
        {"age": [20] * 21 + [50] * 30, "hours": [10] * 21 + [40] * 30, "id": [4, *range(100, 120), *range(5, 35)]}
    )
    first = houses.release("five", stay, k=5)
    later = houses.release("twenty", today, k=5)
    for terms in ({}, {"persons": {}}):
        composition = houses.composed(later, first, **terms)
        assert composition.composed_k == 1, "with the id, and without"


def test_values_that_changed_are_placed_by_an_id_and_by_nothing_else(houses: Houses) -> None:
    before = people(7, coarse=True).select("age", "hours", "ill")
    aged = before.with_columns(pl.col("age") + 1)
    ids = pl.Series("id", np.random.default_rng(8).permutation(10_000)[:ROWS])
    first, last = houses.release("young", before), houses.release("old", aged, k=6)
    composition = houses.composed(last, first)
    assert (composition.composed_k, composition.exact) == (1, False)
    assert composition.unplaced > 0
    named = houses.release("young-id", before.with_columns(ids))
    later = houses.release("old-id", aged.with_columns(ids), k=6)
    for kept in (True, False):
        composition = houses.composed(later, named, kept=kept)
        assert (composition.composed_k, composition.unplaced) == (smallest(of(named), of(later)), 0)
    anew = aged.with_columns(ids.shuffle(seed=1).alias("id") + 20_000)
    again = houses.composed(houses.release("anew", anew, k=6), named)
    assert (again.composed_k, again.exact) == (1, False), "new ids place no person"


def test_ids_that_number_the_rows_of_each_file_place_nobody(houses: Houses) -> None:
    """All ids are in both files, and are other persons': the rows say who is who, or nothing does."""
    draw = np.random.default_rng(31)
    before = people(31)
    numbered = houses.release("numbered", before.with_columns(pl.int_range(ROWS).alias("id")))
    order = draw.permutation(ROWS)
    again = houses.release("numbered again", before[order].with_columns(pl.int_range(ROWS).alias("id")), k=6)
    composed = houses.composed(again, numbered)
    assert (composed.composed_k, composed.unplaced) == (smallest(of(numbered), of(again, order.tolist())), 0)
    coarse = people(32, coarse=True).select("age", "hours", "ill")
    aged = coarse.with_columns(pl.col("age") + 1)[order]
    first = houses.release("numbered young", coarse.with_columns(pl.int_range(ROWS).alias("id")))
    last = houses.release("numbered old", aged.with_columns(pl.int_range(ROWS).alias("id")), k=6)
    assert (houses.composed(last, first).composed_k, houses.composed(last, first).exact) == (1, False)


def test_a_file_that_came_again_and_was_read_otherwise_is_not_the_earlier_table(houses: Houses) -> None:
    frame = people(33)
    first = houses.release("read so", frame)
    otherwise = frame.with_columns(pl.when(pl.col("hours") > 20).then(None).otherwise("hours").alias("hours"))
    again = houses.release("read otherwise", otherwise, quasi_identifiers=["age", "wage"], k=6)
    data = houses.path(again.dataset)
    earlier = Earlier(
        "read so", "boxes", first.ledger, dataset_id=first.dataset, dataset=data, persons=first.persons, key=KEY
    )
    terms = FamilyTerms(dataset_id=again.dataset, key=KEY, under="key")
    composed = composed_with(data, again.spec, again.ledger, [earlier], rng=np.random.default_rng(0), terms=terms)
    assert (composed.composed_k, composed.exact, composed.unplaced > 0) == (1, False, True)


def test_who_was_who_among_those_who_left_is_not_guessed(houses: Houses) -> None:
    """Two who left are alike in one table; each of two others tells them apart, by a column of its own."""
    draw = np.random.default_rng(34)
    stay = pl.DataFrame({"a": np.arange(60) * 3, "b": draw.integers(0, 50, 60)})
    both = pl.concat([stay, pl.DataFrame({"a": [900, 900], "b": [7, 7]})])
    far = draw.permutation(60) + 100
    tables = [both.with_columns(pl.Series(name, [*far, 0, 1_000])) for name in ("d", "c")]
    made = [
        houses.release(f"with {frame.columns[-1]}", frame, quasi_identifiers=[frame.columns[-1]], bounds="cells")
        for frame in tables
    ]
    made.append(houses.release("without either", both, quasi_identifiers=["a"]))
    composed = houses.composed(houses.release("of those who stay", stay, quasi_identifiers=["b"]), *made)
    assert (composed.composed_k, composed.unplaced, composed.left) == (1, 2, 2)


def test_noise_over_values_that_are_gone_is_said_to_place_nobody(houses: Houses) -> None:
    draw = np.random.default_rng(35)
    frame = people(35).select("age", "hours").with_columns(pl.Series("id", draw.permutation(10_000)[:ROWS]))
    noisy = houses.release("noise by id", frame, method="uncertain", quasi_identifiers=["age", "hours"], k=5)
    moved = frame.with_columns(pl.col("age") + draw.integers(-1, 2, ROWS))
    later = houses.release("moved by id", moved, k=6)
    assert houses.composed(later, noisy).unplaced == 0
    gone = houses.composed(later, noisy, kept=False)
    assert (gone.composed_k, gone.unplaced, gone.exact) == (1, ROWS, False)


@pytest.mark.parametrize(("k", "left"), [(500, 496.0), (200, 199.0), (5, 4.0)])
def test_persons_are_counted_to_the_last(k: int, left: float) -> None:
    def held_back(figure: float) -> bool:
        made = FamilyComposition(
            composed_k=figure, overlay=None, overlay_below=None, candidates=None, candidates_below=None, changed=None,
            expected=None, expected_below=None, diversity={}, release_count=2, exact=True,
        )  # fmt: skip
        return finding(made, {"k": k}, [Earlier("one", "boxes", None)]) is not None

    assert held_back(left)
    assert not held_back(float(k))
    assert not held_back(k * 0.9951), "scales of noise are calibrated to so much"


def test_five_in_a_row_are_as_five_of_one_table(houses: Houses) -> None:
    before = people(9)
    rewritten = [written(before) for written, _ in list(REWRITINGS.values())[:5]]
    called = [names for _, names in list(REWRITINGS.values())[:5]]
    made = [
        houses.release(f"row-{at}", one, quasi_identifiers=[names.get(c, c) for c in ("age", "hours")], k=4 + at)
        for at, (one, names) in enumerate(zip(rewritten, called, strict=True))
    ]
    composition = houses.composed(made[-1], *made[:-1])
    assert (composition.composed_k, composition.unplaced) == (smallest(*map(of, made)), 0)


def test_a_kept_value_that_changed_is_counted(houses: Houses) -> None:
    before = people(10).with_columns(pl.int_range(ROWS).sample(ROWS, shuffle=True, seed=1).alias("id") * 3)
    one = pl.when(pl.int_range(ROWS) == 17).then(pl.lit("new")).otherwise("ill").alias("ill")
    first = houses.release("ill", before, keep=["ill"])
    again = houses.release("iller", before.with_columns(one), keep=["ill"])
    for terms in ({}, {"persons": {}}):
        composition = houses.composed(again, first, **terms)
        assert (composition.composed_k, composition.changed or 1) == (1, 1)


def test_noise_knows_whose_scale_is_whose(houses: Houses) -> None:
    """A first uncertain release leaves what it was made to leave; a row's scale is not that of the nearest record."""
    frame = people(11, 400).select("age", "hours", "wage")
    noisy = houses.release("noise", frame, method="uncertain", quasi_identifiers=["age", "hours", "wage"], k=10)
    alone = houses.composed(noisy)
    assert alone.composed_k >= 10 * 0.99
    boxes = houses.release("boxes", frame.rename({"wage": "pay"}), quasi_identifiers=["age", "pay"])
    control = houses.composed(houses.release("same", frame, "data-noise", quasi_identifiers=["age", "wage"]), noisy)
    renamed = houses.composed(boxes, noisy)
    assert renamed.unplaced == control.unplaced == 0
    assert renamed.expected == pytest.approx(control.expected)
    assert houses.composed(boxes, noisy, kept=False).expected == pytest.approx(control.expected)


def test_ledgers_of_before_fingerprints_place_nobody_without_the_data(houses: Houses) -> None:
    frame = people(12)
    first, second = houses.release("old-ledger", frame), houses.release("today", frame, k=7)
    earlier = Earlier("old-ledger", "boxes", first.ledger, dataset_id=first.dataset)
    terms = FamilyTerms(dataset_id=second.dataset, key=KEY)
    data = houses.path(second.dataset)
    composition = composed_with(data, second.spec, second.ledger, [earlier], rng=np.random.default_rng(0), terms=terms)
    assert (composition.composed_k, composition.unplaced, composition.exact) == (1, ROWS, False)
    kept = replace(earlier, dataset=houses.path(first.dataset))
    composition = composed_with(data, second.spec, second.ledger, [kept], rng=np.random.default_rng(0), terms=terms)
    assert composition.composed_k == smallest(of(first), of(second))
    without = Earlier("older", "boxes", None, dataset_id=first.dataset)
    composition = composed_with(data, second.spec, second.ledger, [without], rng=np.random.default_rng(0), terms=terms)
    assert (composition.composed_k, composition.exact) == (1, False)


LEVELS, NUMBERED = ["lo", "mid", "top"], {"lo": "3rd", "mid": "2nd", "top": "1st"}
TREE = [["lo", "low", "*"], ["mid", "high", "*"], ["top", "high", "*"]]
VARIED: dict[str, tuple[Rewritten, dict[str, Any], dict[str, Any]]] = {
    "an order": (
        lambda one: one.with_columns(pl.col("level").replace(NUMBERED)),
        {"quasi_identifiers": ["age", "level"], "ordinal": {"level": LEVELS}},
        {"quasi_identifiers": ["age", "level"], "ordinal": {"level": list(NUMBERED.values())}},
    ),
    "values without one": (
        lambda one: one.with_columns(pl.col("level").replace(NUMBERED), pl.col("sex").str.to_uppercase()),
        {"quasi_identifiers": ["sex", "level", "hours"]}, {"quasi_identifiers": ["sex", "level", "hours"]},
    ),
    "classes of a tree": (
        lambda one: one.with_columns(pl.col("age") * -12),
        {"quasi_identifiers": ["age", "level"], "nominal": {"level": {"hierarchy": {"rows": TREE}}}},
        {"quasi_identifiers": ["age", "level"]},
    ),
    "missing values": (
        lambda one: one.with_columns(pl.col("wage") * 100, pl.col("age") / 4),
        {"quasi_identifiers": ["age", "wage"], "missing_policy": "pattern"},
        {"quasi_identifiers": ["age", "wage"], "missing_policy": "pattern"},
    ),
    "counted kept columns": (
        lambda one: one.with_columns(pl.col("ill").replace({"no": "N", "yes": "Y"}), pl.col("age") * 12),
        {"quasi_identifiers": ["age", "hours"], "keep": ["ill"], "k_counts_kept": True},
        {"quasi_identifiers": ["age", "hours"], "keep": ["ill"], "k_counts_kept": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("varied", VARIED)
def test_columns_of_every_kind_are_seen_through(houses: Houses, varied: str) -> None:
    written, before, after = VARIED[varied]
    frame = people(20 + list(VARIED).index(varied))
    if varied == "missing values":
        gone = pl.Series(np.random.default_rng(1).random(ROWS) < 0.2)
        frame = frame.with_columns(pl.when(gone).then(None).otherwise("wage").alias("wage"))
    order = np.random.default_rng(2).permutation(ROWS)
    label = varied.replace(" ", "-")
    first = houses.release(f"first-{label}", frame, **before)
    last = houses.release(f"last-{label}", written(frame)[order.tolist()], **after, k=7)
    composition = houses.composed(last, first)
    assert composition.composed_k == smallest(of(first), of(last, order))
    assert (composition.unplaced, composition.changed) == (0, None)


def test_what_could_be_anybody_is_not_taken_for_the_same(houses: Houses) -> None:
    """Two halves of a table, numbered each by itself, or with one column without ties each: any ranks fit others."""
    frame = people(30)
    draw = np.random.default_rng(4)
    numbers = [pl.Series("number", draw.permutation(ROWS)) for _ in range(2)]
    one, other = (frame.select(names) for names in (["age", "hours"], ["sex", "wage"]))
    halves = [
        [one.with_columns(numbers[0]), other.with_columns(numbers[1])],
        [pl.DataFrame({"value": draw.normal(size=ROWS)}) for _ in range(2)],
    ]
    for at, (one, other) in enumerate(halves):
        first = houses.release(f"half-{at}", one, quasi_identifiers=one.columns[:1])
        last = houses.release(f"rest-{at}", other, quasi_identifiers=other.columns[-1:] if at else ["sex", "wage"])
        assert (houses.composed(last, first).composed_k, houses.composed(last, first).unplaced) == (1, ROWS)
    longer = frame.with_columns(pl.col("wage") * 100).drop("level")
    last = houses.release("longer", longer)
    assert houses.composed(last, houses.release("shorter", frame)).unplaced == 0
