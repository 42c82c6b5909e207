"""Questions about columns beside the boxes, against all data that the rows of small releases leave possible."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from surebox_core.steps import finished
from surebox_verify.answering import answering
from surebox_verify.boxes import Meaning
from surebox_verify.cli import certify as certify_command
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import name_of, parse_question, question
from surebox_verify.released.beside import MOST_VALUES
from surebox_verify.released.boxes import ReleasedBoxes

STATISTICS = [
    {"kind": "mean", "of": ["pay"]},
    {"kind": "variance", "of": ["pay"]},
    {"kind": "quantile", "of": ["pay"], "p": 0.5},
    {"kind": "share", "of": ["sex"]},
    {"kind": "share", "of": ["sex"], "values": ["nobody's"]},
    {"kind": "share", "of": ["pay"]},
    {"kind": "share", "of": ["pay"], "values": [2, 3]},
    {"kind": "share", "of": ["pay"], "interval": [2, None]},
    {"kind": "share", "of": ["pay"], "interval": [7, 9]},
    {"kind": "share", "of": ["age"], "interval": [None, 2]},
    {"kind": "domain_mean", "of": ["pay", "sex"]},
    {"kind": "domain_mean", "of": ["age", "sex"]},
    {"kind": "domain_mean", "of": ["age", "pay"], "values": [1, 2]},
    {"kind": "domain_mean", "of": ["age", "pay"]},
    {"kind": "domain_mean", "of": ["age", "pay"], "interval": [2, 3]},
    {"kind": "domain_mean", "of": ["pay", "town"]},
    {"kind": "domain_mean", "of": ["pay", "age"], "interval": [1, 2]},
    {"kind": "crosstab", "of": ["town", "sex"]},
    {"kind": "crosstab", "of": ["sex", "pay"]},
    {"kind": "covariance", "of": ["age", "pay"]},
    {"kind": "correlation", "of": ["age", "pay"]},
    {"kind": "regression", "of": ["pay", "age"]},
    {"kind": "regression", "of": ["age", "pay"]},
    {"kind": "prediction", "of": ["age", "pay"], "at": [3]},
    {"kind": "prediction", "of": ["pay", "age"], "at": [1.5]},
]
#: Kinds whose ends are reached where every value is at an end of its box.
ENDS = {"mean", "share", "domain_mean", "crosstab", "quantile"}
VALUES = {"town": ("Oslo", "Rom"), "sex": ("f", "m")}


class Table:
    """Three boxes of two or three rows with their kept values, some of them missing."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        sizes = draw.integers(2, 4, 3) if seed % 2 else np.array([2, 3, 2])
        self.of_row = np.repeat(np.arange(3), sizes)
        rows = len(self.of_row)
        low = draw.integers(0, 3, 3).astype(float)
        high = low + draw.integers(0, 3, 3)
        if seed % 3 == 0:  # a box without values
            low[0] = high[0] = np.nan
        sets = np.array([[True, True], [True, False], [False, True]])[draw.permutation(3)]
        if seed % 4 == 1:
            sets[2] = False
        self.pay = [None if draw.random() < 0.15 else int(draw.integers(1, 5)) for _ in range(rows)]
        self.sex = [None if draw.random() < 0.15 else str(draw.choice(["f", "m"])) for _ in range(rows)]
        self.weights = draw.uniform(1.0, 9.0, rows).round(1)
        self.boxes = ReleasedBoxes(
            lower=low[:, None], upper=high[:, None], counts=sizes.astype(np.int64), of_row=self.of_row,
            sets=(sets,), numeric=("age",), nominal=("town",), codebooks=(VALUES["town"],),
        )  # fmt: skip
        self.kept = pa.table({"pay": pa.array(self.pay, pa.int64()), "sex": pa.array(self.sex, pa.string())})

    def possible(self, of: Sequence[str], draw: np.random.Generator) -> Iterator[Mapping[str, list[Any]]]:
        """Data that fit the boxes: all with ages at the ends of their boxes, or some of them where these are many."""
        low, high = self.boxes.lower[self.of_row, 0], self.boxes.upper[self.of_row, 0]
        ages = [sorted({a, a if np.isnan(b) else (a + b) // 2, b}) for a, b in zip(low, high, strict=True)]
        if np.isnan(low).any():
            ages = [[None] if np.isnan(a) else each for a, each in zip(low, ages, strict=True)]
        held = self.boxes.sets[0][self.of_row]
        towns = [[VALUES["town"][code] for code in np.flatnonzero(one)] or [None] for one in held]
        each_age = ages if "age" in of else [one[:1] for one in ages]
        each_town = towns if "town" in of else [one[:1] for one in towns]
        number = np.prod([len(one) for one in (*each_age, *each_town)])
        if number <= 3000:
            for age in itertools.product(*each_age):
                for town in itertools.product(*each_town):
                    yield {"age": list(age), "town": list(town), "pay": self.pay, "sex": self.sex}
            return
        for _ in range(500):
            age = [one[draw.integers(len(one))] for one in each_age]
            town = [one[draw.integers(len(one))] for one in each_town]
            yield {"age": age, "town": town, "pay": self.pay, "sex": self.sex}


def value(one: Mapping[str, Any], data: Mapping[str, list[Any]], weights: np.ndarray) -> Any:
    """A statistic over the records that have its columns; None where they leave it undefined."""
    columns = [data[name] for name in one["of"]]
    there = np.array([all(cell is not None for cell in cells) for cells in zip(*columns, strict=True)])
    if not there.any():
        return None
    columns = [[cell for cell, ok in zip(column, there, strict=True) if ok] for column in columns]
    w = weights[there]
    kind = one["kind"]
    if kind == "crosstab":
        cell = np.array([list(pair) == list(one["values"]) for pair in zip(*columns, strict=True)])
        return float(w[cell].sum())
    if kind in {"share", "domain_mean"}:
        if one["interval"] is not None:
            low, high = one["interval"]
            inside = np.array([(low is None or low <= v) and (high is None or v <= high) for v in columns[-1]])
        else:
            inside = np.array([v in one["values"] for v in columns[-1]])
        if kind == "share":
            return float(w[inside].sum() / w.sum())
        return float(np.average(np.array(columns[0])[inside], weights=w[inside])) if inside.any() else None
    return of_numbers(kind, [np.array(column, dtype=float) for column in columns], w, one.get("at") or ())


def of_numbers(kind: str, x: Sequence[np.ndarray], w: np.ndarray, at: Sequence[float]) -> Any:
    """A statistic of moments, or a median; None where it is undefined."""
    if kind == "quantile":
        order = np.argsort(x[0], kind="stable")
        sums = np.cumsum(w[order])
        return float(x[0][order][np.searchsorted(sums, 0.5 * w.sum() * (1.0 - 1e-12))])
    means = [np.average(each, weights=w) for each in x]
    moment = np.array([[np.average((a - m) * (b - n), weights=w) for b, n in zip(x, means, strict=True)]
                       for a, m in zip(x, means, strict=True)])  # fmt: skip
    if kind == "mean":
        return means[0]
    if kind == "variance":
        return moment[0, 0]
    if kind == "covariance":
        return moment[0, 1]
    if moment[-1, -1] < 1e-12 or (kind == "correlation" and moment[0, 0] < 1e-12):
        return None
    if kind == "correlation":
        return moment[0, 1] / np.sqrt(moment[0, 0] * moment[1, 1])
    slope = moment[0, 1] / moment[1, 1]
    if kind == "prediction":
        return means[0] + slope * (at[0] - means[1])
    return [means[0] - slope * means[1], slope]


def compare(one: Mapping[str, Any], expected: Sequence[Any], *, reached: bool) -> None:
    """The range holds every value, and its ends are reached where it says so."""
    defined = [each for each in expected if each is not None]
    ranges = one["guaranteed"]
    if not defined:
        return
    several = isinstance(defined[0], list)
    for place in range(len(defined[0]) if several else 1):
        ends = ranges[place] if several and ranges is not None else ranges
        values = [each[place] if several else each for each in defined]
        if ends is None:
            assert one["reason"]
            continue
        slack = 1e-9 * max(1.0, *map(abs, ends))
        assert ends[0] - slack <= min(values), (name_of(one), one, min(values))
        assert max(values) <= ends[1] + slack, (name_of(one), one, max(values))
        if reached and one["sharp"]:
            assert (min(values), max(values)) == pytest.approx(tuple(ends), abs=1e-9), (name_of(one), one)


def answers(table: Table, questions: Sequence[Mapping[str, Any]], **more: Any) -> list[list[dict[str, Any]]]:
    boxes = more.pop("boxes", table.boxes)
    return finished(answering(boxes, table.kept, [question(one) for one in questions], **more))


@pytest.mark.parametrize("seed", range(8))
def test_ranges_are_those_of_all_data_that_fit(seed: int) -> None:
    """Of rows that count alike: what no data exceed, and some data reach where the range says that it is exact."""
    table, draw = Table(seed), np.random.default_rng(seed)
    ones = np.ones(len(table.of_row))
    for one in (entry for entries in answers(table, STATISTICS, refuse=False) for entry in entries):
        data = list(table.possible(one["of"], draw))
        compare(one, [value(one, each, ones) for each in data], reached=one["kind"] in ENDS and len(data) != 500)
        own = {"age", "town"} & set(one["of"])
        if one["kind"] in ENDS and not own and one["guaranteed"] is not None:
            assert one["value_known"], one  # nothing of kept columns alone is open


@pytest.mark.parametrize("seed", range(8))
def test_ranges_hold_whatever_rows_weigh_within_their_box(seed: int) -> None:
    """Weights of whole boxes: of a box that is in an interval any part may be each row's."""
    table, draw = Table(seed), np.random.default_rng(seed)
    mean = np.bincount(table.of_row, table.weights) / table.boxes.counts
    boxes = ReleasedBoxes(**(vars(table.boxes) | {"survey_ends": (0.9 * mean, 1.1 * mean)}))
    # rows with other weights that give their boxes the same ones: nearly all of a box's weight on one row, or shared
    shapes = [draw.dirichlet(np.full(len(table.of_row), 0.05), 40), np.ones((1, len(table.of_row)))]
    weights = []
    for shape in np.concatenate(shapes) + 1e-9:
        whole = np.bincount(table.of_row, shape)
        total = mean * table.boxes.counts * draw.uniform(0.9, 1.1, 3)
        weights.append(shape / whole[table.of_row] * total[table.of_row])
    of_kept = [one for one in STATISTICS if set(one["of"]) & {"pay", "sex"} or "interval" in one]
    for one in (entry for entries in answers(table, of_kept, boxes=boxes, refuse=False) for entry in entries):
        assert one["guaranteed"] is not None or one["reason"], one
        data = list(itertools.islice(table.possible(one["of"], draw), 12))
        compare(one, [value(one, each, w) for each in data for w in weights], reached=False)


def test_what_a_whole_box_says_is_no_part_s() -> None:
    """Ends of tight boxes are some record's, of which part is not known: no range of parts is called the narrowest."""
    table = Table(2)
    spread, alone = answers(
        table, [{"kind": "domain_mean", "of": ["age", "sex"], "values": ["f"]}, {"kind": "mean", "of": ["pay"]}],
        meaning=Meaning(attained=True),
    )  # fmt: skip
    assert not spread[0]["sharp"]
    assert spread[0]["attained"] is None
    assert alone[0]["sharp"]
    assert alone[0]["value_known"]


def test_what_has_no_answer_says_why() -> None:
    table = Table(2)
    odd = [
        {"kind": "share", "of": ["sex"], "interval": [1, 2]},
        {"kind": "share", "of": ["pay"], "interval": ["2020-01-01", None]},
        {"kind": "mean", "of": ["sex"]},
        {"kind": "domain_mean", "of": ["pay", "sex"], "values": ["nobody's"]},
    ]
    results = answers(table, odd, refuse=False)
    assert [one["guaranteed"] for (one,) in results] == [None] * 4
    reasons = [one["reason"] for (one,) in results]
    assert "no numbers" in reasons[0]
    assert "days" in reasons[1]
    assert "numeric" in reasons[2]
    assert "is shown" in reasons[3]
    for one in odd[:2]:
        with pytest.raises(UnreadableError):
            answers(table, [one])


def test_of_many_texts_only_those_that_are_named_are_values() -> None:
    """A matrix of all rows by all values would take the memory of both multiplied."""
    rows = MOST_VALUES + 4
    boxes = ReleasedBoxes(
        lower=np.zeros((2, 1)), upper=np.ones((2, 1)), counts=np.full(2, rows // 2), numeric=("age",),
        of_row=np.repeat([0, 1], rows // 2),
    )  # fmt: skip
    names = ["1", "1.0", *(f"p{number}" for number in range(rows - 2))]
    kept = pa.table({"name": pa.array(names), "pay": pa.array(range(rows))})
    refused = [
        {"kind": "share", "of": ["name"]},
        {"kind": "crosstab", "of": ["name", "name"]},
        {"kind": "domain_mean", "of": ["pay", "name"]},
        {"kind": "regression", "of": ["pay", "name"]},
        {"kind": "share", "of": ["name"], "values": [1.0]},
        {"kind": "share", "of": ["name"], "values": ["nobody"]},
    ]
    for one in refused:
        with pytest.raises(UnreadableError, match="'name'"):
            finished(answering(boxes, kept, [question(one)]))
    share, mean = (
        {"kind": "share", "of": ["name"], "values": ["p1", "1.0"]},
        {"kind": "domain_mean", "of": ["pay", "name"], "values": ["p0", "1"]},
    )
    ((of_two,), (of_pay,)) = finished(answering(boxes, kept, [question(share), question(mean)]))
    assert of_two["guaranteed"] == pytest.approx([2 / rows] * 2)
    assert of_two["values"] == ["p1", "1.0"]
    assert of_pay["guaranteed"] == pytest.approx([1.0, 1.0])


def test_a_regression_without_a_range_names_what_may_be_constant() -> None:
    boxes = ReleasedBoxes(
        lower=np.zeros((2, 1)), upper=np.ones((2, 1)), counts=np.array([2, 2]), of_row=np.array([0, 0, 1, 1]),
        numeric=("age",),
    )  # fmt: skip
    kept = pa.table({"pay": pa.array([1, 2, 3, 5])})
    question_of = question({"kind": "regression", "of": ["pay", "age"]})
    ((one,),) = finished(answering(boxes, kept, [question_of]))
    assert None in one["guaranteed"]
    assert "'age' may be constant" in one["reason"]
    ((other,),) = finished(answering(boxes, kept, [question({"kind": "mean", "of": ["age"]})]))
    assert other["sharp"]
    assert not other["value_known"]
    assert other["reason"] is None


@pytest.mark.parametrize(
    "text",
    ["share(pay=2..3)", "share(pay=..3)", "domain_mean(age, pay=2..)", "share(born=2020-01-01..2020-12-31)",
     "share(sex=f|m)", "share(sex=a..b)", "prediction(pay, age=40.5, sex=f, born=2020-01-01, is=true)"],
)  # fmt: skip
def test_intervals_are_written_as_they_are_read(text: str) -> None:
    one = parse_question(text)
    assert (one.interval is None) is text.startswith(("share(sex", "prediction"))
    published = {"kind": one.kind, "of": one.of, "values": one.values, "interval": one.interval, "at": one.at}
    assert parse_question(name_of(published)) == one


@pytest.mark.parametrize(
    "text",
    [
        "prediction(pay, age)",
        "prediction(pay)",
        "mean(pay)=2",
        "share(pay=3..2)",
        '{"kind": "mean", "of": ["x"], "interval": [1, 2]}',
    ],
)
def test_intervals_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        parse_question(text)


def test_what_the_command_cannot_do_is_an_error_in_json_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        certify_command([str(tmp_path / "missing.csv"), "--json", "--statistic", "mean(age)"])
    said = capsys.readouterr()
    assert end.value.code == 2
    assert json.loads(said.out) == {"statistics": [], "error": said.err.strip()}


def test_the_command_reads_kept_columns_from_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty text is a value, a missing one is none."""
    path = tmp_path / "release.csv"
    path.write_text('box,age_lo,age_hi,note,pay\n1,1,2,"",5\n1,1,2,,7\n2,3,4,a,\n2,3,4,a,9\n')
    wanted = {"share(note=a)": 2 / 3, "mean(pay)": 7.0, "share(pay=..7)": 2 / 3}
    with pytest.raises(SystemExit) as end:
        certify_command([str(path), *(part for each in wanted for part in ("--json", "--statistic", each))])
    assert end.value.code == 0
    statistics = json.loads(capsys.readouterr().out)["statistics"]
    for one, value in zip(statistics, wanted.values(), strict=True):
        assert one["guaranteed"] == pytest.approx([value, value], abs=1e-12), one
        assert one["value_known"]
