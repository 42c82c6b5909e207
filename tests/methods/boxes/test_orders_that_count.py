"""Ordinal columns count as the numbers that their values are, everywhere; others by rank from 1, which is said."""

import datetime as dt
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.columns import label_numbers
from app.methods.catalogue import public_statistics
from surebox_verify.certificate import exact
from surebox_verify.certify import certify
from surebox_verify.keys import read_keys
from surebox_verify.released.orders import order_of
from surebox_verify.verification import verify
from tests.drawing import seeds
from tests.methods.in_process import Bench, Done
from tests.verify.made import Issuer, statement

ENDS = ("lo", "hi")
EPOCH = dt.date(1970, 1, 1)
DAYS = [dt.date(1968, 5, 3), dt.date(1970, 1, 1), dt.date(1970, 1, 9), dt.date(2021, 7, 30), dt.date(2021, 8, 1)]
#: Values in their order, and what each counts as.
NUMBERS: dict[str, tuple[list[Any], list[float]]] = {
    "a scale": ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
    "uneven": ([1, 2, 5, 10, 50], [1, 2, 5, 10, 50]),
    "negative": ([-7, -2, 0, 1], [-7, -2, 0, 1]),
    "decimals": ([0.1, 0.2, 0.30000000000000004, 1.25, 1e6], [0.1, 0.2, 0.30000000000000004, 1.25, 1e6]),
    "large": ([-(2**53), 0, 2**52 + 1], [-9007199254740992.0, 0.0, 4503599627370497.0]),
    "texts": (["1", "2", "5", "10"], [1, 2, 5, 10]),
    "odd texts": ([" -01", "+02 ", "3.50", "1e1"], [-1, 2, 3.5, 10]),
    "days": (DAYS, [(day - EPOCH).days for day in DAYS]),
}
WORDS: dict[str, tuple[list[Any], list[float]]] = {
    "words": (["low", "mid", "high", "top"], [1, 2, 3, 4]),
    "mixed": (["<5", "5", "10"], [1, 2, 3]),
    "truths": ([False, True], [1, 2]),
    "one number in words": (["0", "1", "many"], [1, 2, 3]),
}
ORDERS = NUMBERS | WORDS


def table(draw: np.random.Generator, orders: Mapping[str, str]) -> pl.DataFrame:
    """A number and columns of an order each; values that nobody has, some missing, and ties."""
    rows = int(draw.integers(80, 240))
    columns: dict[str, Any] = {"x": np.round(draw.lognormal(2, 1, rows), 1), "weight": draw.uniform(0.5, 2.0, rows)}
    for name, kind in orders.items():
        values = ORDERS[kind][0]
        weights = draw.dirichlet(np.full(len(values), 0.7))
        picked = [values[int(place)] for place in draw.choice(len(values), rows, p=weights)]
        columns[name] = [None if draw.random() < 0.05 else value for value in picked]
    kinds = {int: pl.Int64, float: pl.Float64, str: pl.String, bool: pl.Boolean, dt.date: pl.Date}
    schema = {name: kinds[type(ORDERS[kind][0][0])] for name, kind in orders.items()}
    return pl.DataFrame(columns, schema_overrides=schema)


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


@dataclass(frozen=True)
class Truth:
    """Records as what they count as, NaN where missing, and their weights."""

    numbers: Mapping[str, np.ndarray]
    weights: np.ndarray

    def of(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first and the last of some columns, and the weights, of the records that have all of these columns."""
        there = ~np.isnan(np.column_stack([self.numbers[name] for name in names])).any(axis=1)
        return self.numbers[names[0]][there], self.numbers[names[-1]][there], self.weights[there]


def counted(frame: pl.DataFrame, spec: Mapping[str, Any], orders: Mapping[str, str]) -> Truth:
    """The records that take part, as what they count as."""
    rows = frame.drop_nulls() if spec["missing_policy"] == "drop" else frame
    numbers = {"x": rows["x"].to_numpy().astype(float)}
    for name, kind in orders.items():
        values, count = ORDERS[kind]
        of = {None: math.nan, **{values[place]: float(count[place]) for place in range(len(values))}}
        numbers[name] = np.array([of[value] for value in rows[name].to_list()])
    weights = rows["weight"].to_numpy() if "survey_weight_column" in spec else np.ones(len(rows))
    return Truth(numbers, weights)


def requested(draw: np.random.Generator, orders: Mapping[str, str]) -> list[dict[str, Any]]:
    first, second = orders
    some = [plain(value) for value in ORDERS[orders[first]][0][:2]]
    return [
        *({"kind": kind, "of": [first]} for kind in ("mean", "variance", "standard_deviation")),
        {"kind": "mean", "of": [second]},
        {"kind": "quantile", "of": [first], "p": float(draw.choice([0.1, 0.25, 0.5, 0.9]))},
        {"kind": "covariance", "of": ["x", first]},
        {"kind": "correlation", "of": [first, second]},
        {"kind": "regression", "of": ["x", first]},
        {"kind": "prediction", "of": [second, first], "at": [some[0]]},
        {"kind": "share", "of": [first], "values": some},
        {"kind": "domain_mean", "of": ["x", first], "values": some},
        {"kind": "domain_mean", "of": [second, first], "values": some},
    ]


def number_of(kind: str, value: Any) -> float:
    values, numbers = ORDERS[kind]
    return float(numbers[[plain(each) for each in values].index(value)])


def truth(one: Mapping[str, Any], data: Truth, orders: Mapping[str, str]) -> Any:
    """A statistic by its definition, of weighted records; NaN where it has none."""
    x, y, w = data.of(one["of"])
    mean_x, mean_y = np.average(x, weights=w), np.average(y, weights=w)
    u, v = x - mean_x, y - mean_y
    both, spread = np.average(u * v, weights=w), np.average(v * v, weights=w)
    slope = both / spread if spread else math.nan
    match one["kind"]:
        case "share" | "domain_mean":
            some = np.isin(y, [number_of(orders[one["of"][-1]], value) for value in one["values"]])
            if one["kind"] == "share":
                return np.average(some, weights=w)
            return np.average(x[some], weights=w[some]) if some.any() else math.nan
        case "quantile":
            order = np.argsort(x, kind="stable")
            reached = np.cumsum(w[order]) >= one["p"] * w.sum() * (1 - 1e-12)
            return x[order][np.argmax(reached)]
        case "correlation":
            return both / math.sqrt(np.average(u * u, weights=w) * spread) if np.ptp(x) and np.ptp(y) else math.nan
        case "regression":
            return [mean_x - slope * mean_y, slope]
        case "prediction":
            return mean_x + slope * (number_of(orders[one["of"][-1]], one["at"][0]) - mean_y)
    return {"mean": mean_x, "variance": spread, "standard_deviation": math.sqrt(spread), "covariance": both}[
        one["kind"]
    ]


def holds(ranges: Any, value: Any) -> bool:
    """Return whether a certain range contains the truth, up to how the naive sums are rounded."""
    if isinstance(value, list):
        return all(holds(*pair) for pair in zip(ranges, value, strict=True))
    if ranges is None or not math.isfinite(value):
        return True
    play = 1e-7 * max(abs(ranges[0]), abs(ranges[1]), 1e-9)
    return bool(ranges[0] - play <= value <= ranges[1] + play)


def specification(draw: np.random.Generator, orders: Mapping[str, str]) -> dict[str, Any]:
    def one(*choices: Any) -> Any:
        return choices[int(draw.integers(0, len(choices)))]

    more: dict[str, Any] = one(
        {}, {}, {"box_means": "rounded"}, {"box_means": "exact", "bounds": "cells"}, {"rare_records": "mark"},
        {"survey_weight_column": "weight"}, {"missing_policy": "pattern", "max_suppressed_classes": 0.5},
    )  # fmt: skip
    return {
        "method": "boxes", "quasi_identifiers": ["x", *orders], "k": int(draw.integers(4, 9)),
        "bounds": one("cells", "tight", "grid"), "partition": one("optimal", "fast"), "missing_policy": "drop",
        "ordinal": {name: [plain(value) for value in ORDERS[kind][0]] for name, kind in orders.items()},
        "statistics": requested(draw, orders), "value_step": {"x": 0.1},
    } | more  # fmt: skip


def signed(
    done: Done, change: Callable[[dict[str, Any]], None] = lambda _: None
) -> tuple[dict[str, bytes], bytes, Issuer]:
    """The files of a release, and the certificate that the service would sign, or one that was changed."""
    draft = done.release
    assert draft is not None
    files = {f"release.{name}": file.path.read_bytes() for name, file in draft.files.items()}
    statistics = json.loads(json.dumps(public_statistics("boxes", draft.statistics)))
    for one in statistics:
        change(one)
    body = statement(files, statistics)
    body["predicate"]["parameters"] = json.loads(json.dumps(dict(draft.parameters)))
    body["predicate"]["release"]["columns"] = [dict(column) for column in draft.columns]
    issuer = Issuer.new()
    return files, issuer.sign(exact(body)), issuer


def drawn(seed: int, bench: Bench) -> tuple[Done, dict[str, str], Truth]:
    draw = np.random.default_rng(seed)
    first, second = (str(kind) for kind in draw.permutation([*ORDERS])[:2])
    orders = {
        "a": list(ORDERS)[seed % len(ORDERS)],
        "b": second if second != list(ORDERS)[seed % len(ORDERS)] else first,
    }
    frame = table(draw, orders)
    bench.dataset(f"t{seed}", frame)
    spec = specification(draw, orders)
    return bench.run(spec | {"dataset_id": f"t{seed}"}), orders, counted(frame, spec, orders)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize("seed", seeds(12, 300))
def test_every_range_contains_the_statistic_of_the_numbers(bench: Bench, seed: int) -> None:
    """Of the job, of the certificate, requested of the release again, by its certificate, and of the file alone."""
    done, orders, data = drawn(seed, bench)
    statistics = done.result["statistics"]
    # a pattern of missing values that few records have gives up values: then the truth is not that of all records
    whole = (done.result["suppressed_cells"], done.result["released"]) == (0, len(data.weights))
    for one in statistics if whole else ():
        true = truth(one, data, orders)
        assert holds(one["guaranteed"], true), (orders, one, true)
        if one["true_value"] is not None:
            np.testing.assert_allclose(np.array(one["true_value"], float), true, rtol=1e-6, atol=1e-9, err_msg=str(one))
    name = bench.keep(f"r{seed}", done)
    questions = requested_of(done)
    again = bench.run({"method": "statistics", "release_id": name, "statistics": questions}).result["statistics"]
    files, envelope, issuer = signed(done)
    frame = pl.read_parquet(io.BytesIO(files["release.parquet"]))
    certified = certify(frame, [json.dumps(each) for each in questions], certificate=envelope)
    for one, recomputed, by_certificate in zip(statistics, again, certified, strict=True):
        assert recomputed["guaranteed"] == by_certificate["guaranteed"]
        np.testing.assert_allclose(ends(recomputed), ends(one), rtol=1e-6, atol=1e-9)
        assert not whole or holds(by_certificate["guaranteed"], truth(one, data, orders))
    report = verify({"release.parquet": files["release.parquet"]}, envelope, read_keys(issuer.key_set()))
    assert (report.problems, report.unchecked, report.exit_code) == ([], [], 0), (orders, report)
    if whole:
        check_alone(files, data, {"weight": True} if "weight_mean_lo" in frame.columns else {})


def ends(one: Mapping[str, Any]) -> np.ndarray:
    """The ends of the ranges of a statistic, NaN where there is none."""
    ranges = one["guaranteed"] if one["kind"] == "regression" else [one["guaranteed"]]
    return np.array([[math.nan, math.nan] if each is None else each for each in ranges])


def requested_of(done: Done) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = done.spec.model_dump(mode="json", exclude_none=True)["statistics"]
    return [{name: value for name, value in one.items() if name != "weight"} for one in listed]


def check_alone(files: Mapping[str, bytes], data: Truth, more: Mapping[str, Any]) -> None:
    """Whoever has the file alone reads numbers, and has a range that contains the same."""
    for frame in (
        pl.read_parquet(io.BytesIO(files["release.parquet"])),
        pl.read_csv(files["release.csv"], try_parse_dates=True),
    ):
        numeric = [
            name
            for name in ("a", "b")
            if all(frame[f"{name}_{end}"].dtype.is_numeric() or frame[f"{name}_{end}"].dtype == pl.Date for end in ENDS)
        ]
        columns = ["x", *numeric]
        for name in numeric:
            for one in certify(frame, [f"mean({name})", f"variance({name})"], columns=columns, **more):
                assert holds(one["guaranteed"], truth({"kind": one["kind"], "of": [name]}, data, {})), name


@pytest.mark.parametrize("kind", WORDS)
def test_ranks_are_called_ranks_and_quantiles_are_values(bench: Bench, kind: str) -> None:
    draw = np.random.default_rng(len(kind))
    orders = {"a": kind, "b": "a scale"}
    bench.dataset(f"words {kind}", table(draw, orders))
    done = bench.run(specification(draw, orders) | {"dataset_id": f"words {kind}"})
    first = str(ORDERS[kind][0][0]).lower() if kind == "truths" else ORDERS[kind][0][0]
    by_kind = {(one["kind"], *one["of"]): one for one in done.result["statistics"]}
    assert by_kind["mean", "a"]["called"] == f"mean rank (1 = {first})"
    assert by_kind["variance", "a"]["called"] == f"variance of the rank (1 = {first})"
    assert by_kind["correlation", "a", "b"]["called"] == f"correlation by rank (a: 1 = {first})"
    assert by_kind["domain_mean", "x", "a"]["called"] is None
    assert by_kind["share", "a"]["called"] is None
    assert by_kind["mean", "b"]["called"] is None
    quantile = by_kind["quantile", "a"]
    values = ORDERS[kind][0]
    assert quantile["labels"]["guaranteed"] == [values[int(rank) - 1] for rank in quantile["guaranteed"]]
    assert quantile["labels"]["estimate"] == values[int(quantile["estimate"]) - 1]
    assert quantile["true_label"] == values[int(quantile["true_value"]) - 1]
    assert "true_label" not in json.dumps(public_statistics("boxes", done.release.statistics))  # type: ignore[union-attr]
    assert by_kind["mean", "b"]["labels"] is None
    again = bench.run(
        {"method": "statistics", "release_id": bench.keep(f"words {kind}", done), "statistics": requested_of(done)}
    )
    for one, other in zip(done.result["statistics"], again.result["statistics"], strict=True):
        assert (one["called"], one["labels"]) == (other["called"], other["labels"])


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(called=None),
        lambda one: one.update(called="mean rank (1 = high)") if one["kind"] == "mean" else None,
        lambda one: one["labels"].update(guaranteed=["low", "low"]) if one["labels"] else None,
        lambda one: one.update(labels=None),
    ],
)
def test_ranks_that_are_called_something_else_are_contradicted(
    bench: Bench, change: Callable[[dict[str, Any]], None]
) -> None:
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"x": draw.normal(size=90).round(1), "a": [*["mid", "high", "top"] * 29, *["low"] * 3]})
    bench.dataset("called", frame)
    spec = {"method": "boxes", "dataset_id": "called", "quasi_identifiers": ["x", "a"], "k": 5, "statistics": [
        {"kind": "mean", "of": ["a"]}, {"kind": "quantile", "of": ["a"], "p": 0.9}]}  # fmt: skip
    done = bench.run(spec | {"ordinal": {"a": WORDS["words"][0]}})
    codes = []
    for one in (lambda _: None, change):
        files, envelope, issuer = signed(done, one)
        codes.append(
            verify({"release.parquet": files["release.parquet"]}, envelope, read_keys(issuer.key_set())).exit_code
        )
    assert codes == [0, 1]


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_counts_and_shares_are_within_intervals_of_the_numbers(bench: Bench, seed: int) -> None:
    draw = np.random.default_rng(seed)
    orders = {"a": [*NUMBERS][seed % len(NUMBERS)], "b": "words"}
    frame = table(draw, orders)
    name = f"within {seed}"
    bench.dataset(name, frame)
    spec = {key: one for key, one in specification(draw, orders).items() if key != "survey_weight_column"}
    spec |= {"missing_policy": "drop"}
    done = bench.run(spec | {"dataset_id": name})
    release, data = bench.keep(name, done), counted(frame, spec, orders).numbers
    values, numbers = ORDERS[orders["a"]]
    for _ in range(2):
        low, high = sorted(int(place) for place in draw.integers(0, len(values), 2))
        interval: Sequence[Any] = [plain(values[low]), plain(values[high])]
        lower, upper = numbers[low], numbers[high]
        if not isinstance(values[0], dt.date):
            lower, upper = numbers[low] + float(draw.choice([0.0, 0.01])), numbers[high] + 0.01
            interval = [lower, upper]
        inside = (data["a"] >= lower) & (data["a"] <= upper)
        count = bench.run(
            {"method": "count", "release_id": release, "queries": [{"a": interval}, {"a": [None, interval[1]]}]}
        )
        between, up_to = (one["guaranteed"] for one in count.result["counts"])
        assert between[0] <= inside.sum() <= between[1]
        assert up_to[0] <= (data["a"] <= upper).sum() <= up_to[1]
        statistics = [
            {"kind": "share", "of": ["a"], "interval": interval},
            {"kind": "domain_mean", "of": ["x", "a"], "interval": interval},
        ]
        share, mean = bench.run({"method": "statistics", "release_id": release, "statistics": statistics}).result[
            "statistics"
        ]
        assert share["interval"] == list(interval)
        assert holds(share["guaranteed"], float(inside.mean()))
        least, most = share["guaranteed"]
        assert between[0] / len(inside) - 1e-9 <= least <= most <= between[1] / len(inside) + 1e-9
        assert not inside.any() or holds(mean["guaranteed"], float(data["x"][inside].mean()))


def test_orders_that_contradict_their_numbers_are_refused_by_name(bench: Bench) -> None:
    bench.dataset("texts", pl.DataFrame({"x": [1.0, 2.0] * 10, "a": ["1", "1.0"] * 10}))
    for order in (["1", "1.0"], ["2", "1"], [" 1", "01"], ["1", "9" * 5000], ["9007199254740992", "9007199254740993"]):
        with pytest.raises(ValueError, match="'a' are numbers and count as these"):
            bench.spec({
                "method": "boxes", "dataset_id": "texts", "quasi_identifiers": ["x", "a"], "k": 2,
                "ordinal": {"a": order},
            })  # fmt: skip
        with pytest.raises(ValueError, match=r"number"):
            order_of(order)


@pytest.mark.parametrize("seed", seeds(10, 1000))
def test_front_and_readers_read_the_same_numbers(seed: int) -> None:
    draw = np.random.default_rng(seed)
    marks = [*"0123456789+-. eE_,<x", "\N{ARABIC-INDIC DIGIT ONE}", "2020-01-0", "nan", "inf"]
    texts = ["".join(draw.choice(marks, draw.integers(1, 5))) for _ in range(30)]
    for text in texts:
        front = label_numbers([text])
        if front is not None and not isinstance(front[0], dt.date) and abs(front[0]) > 1e70:
            with pytest.raises(ValueError, match="too large"):
                order_of([text])
            continue
        assert (front is None) is (len(text) > 0 and order_of([text]).by_rank), text
        if front is not None:
            number = (front[0] - EPOCH).days if isinstance(front[0], dt.date) else front[0]
            assert float(number) == order_of([text]).numbers[0]
