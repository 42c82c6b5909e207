"""Every number and word of a certificate changed, one at a time: it is found, or listed as what no file shows."""

import contextlib
import copy
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl
import pytest

from surebox_verify.envelope import UnreadableError
from tests.attacks.certified import KINDS, Bundle
from tests.verify.schema import faults


def leaves(value: Any, *at: str | int) -> Iterator[tuple[str | int, ...]]:
    """Places of everything in a claim that has no parts."""
    if isinstance(value, dict | list) and value:
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(below, *at, key)
    else:
        yield at


def another(value: Any) -> Any:
    """Something else of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 1.3 if value else 0.5
    if isinstance(value, str):
        return value + "x"
    return ["zzz"] if value == [] else "zzz"


def once_a_field(places: Iterable[tuple[str | int, ...]]) -> list[tuple[str | int, ...]]:
    """Of each field the first two places, whatever column or statistic it is of."""
    seen: dict[tuple[str, ...], list[tuple[str | int, ...]]] = {}
    for at in places:
        seen.setdefault(tuple(part for part in at if isinstance(part, str)), []).append(at)
    return [at for of_field in seen.values() for at in of_field[:2]]


def of_two_statistics(body: dict[str, Any]) -> dict[str, Any]:
    """The same claims with two statistics at most, which are fast to compute; weights follow from all of them."""
    few = copy.deepcopy(body)
    predicate, requested = few["predicate"], few["predicate"]["parameters"].get("statistics")
    if requested and "weighed_by" not in predicate["parameters"]:
        kept = [one for one in requested if one["kind"] not in {"regression", "correlation", "covariance"}][:2]
        predicate["parameters"]["statistics"] = kept
        named = [(one["kind"], one["of"]) for one in kept]
        predicate["statistics"] = [one for one in predicate["statistics"] if (one["kind"], one["of"]) in named]
    return few


#: What is said more modestly, or means the same, once it is changed: of releases that keep nothing, of ranges that are
#: wider, of a larger `t` or gap, and of a quantile whose next values are the same.
MODEST = {"k_counts_kept", "sharp", "p", "t", "gap", "attained", "guaranteed"}


@pytest.mark.parametrize("kind", KINDS)
def test_each_certificate_is_of_the_published_schema_and_all_of_it_is_known(
    bundles: Callable[[str], Bundle], kind: str
) -> None:
    bundle = bundles(kind)
    assert list(faults(bundle.body)) == []
    report = bundle.report(bundle.body)
    assert (report.exit_code, report.not_checked) == (0, [])


@pytest.mark.parametrize("kind", KINDS)
def test_each_part_of_a_certificate_is_compared_or_named_as_beyond_the_file(
    bundles: Callable[[str], Bundle], kind: str, scale: int
) -> None:
    """Every number, word and gap, changed one at a time: found, not understood, or listed as what no file shows.

    `make test` changes each field of two statistics twice, `make long` every place of all.
    """
    bundle, passed, tried = bundles(kind), [], 0
    whole = bundle.body if scale > 1 else of_two_statistics(bundle.body)
    predicate = whole["predicate"]
    assert bundle.report(whole).exit_code == 0
    parts = ["release", "parameters", "k", *(["statistics"] if predicate["parameters"]["method"] == "boxes" else [])]
    places = leaves({name: predicate[name] for name in parts})
    for at in places if scale > 1 else once_a_field(places):
        if at == ("release", "id") or (at[0] == "statistics" and len(at) < 2):
            continue
        other = copy.deepcopy(whole)
        holder: Any = other["predicate"]
        for part in at[:-1]:
            holder = holder[part]
        before, holder[at[-1]] = holder[at[-1]], another(holder[at[-1]])
        tried += 1
        try:
            report = bundle.report(other)
        except UnreadableError:
            continue
        said = " ".join(report.beyond_the_file)
        names = [f"`{part}`" for part in at if isinstance(part, str)] + [str(before), str(holder[at[-1]])]
        is_named = any(name in said for name in names if len(name) > 2 and name not in {"None", "True", "False"})
        if report.exit_code == 0 and not is_named and not MODEST.intersection(at):
            passed.append((at, before))
    assert passed == []
    assert tried > 10


@pytest.mark.parametrize("kind", ["weighed", "weighed, declared", "weighed, paper"])
def test_weights_are_computed_again(bundles: Callable[[str], Bundle], kind: str) -> None:
    """One box has another weight, in all of its rows; or the weights of all are said to follow from other numbers."""
    bundle = bundles(kind)
    said = bundle.body["predicate"]["parameters"]
    frame = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    middle = frame.filter(*(
        (pl.col(f"{name}_lo") > pl.col(f"{name}_hi").min()) & (pl.col(f"{name}_hi") < pl.col(f"{name}_lo").max())
        for name in ("dose", "days")
    ))  # fmt: skip
    assert middle["box"].n_unique() > 1
    for by in (0.99, 1.01):
        changed = pl.when(pl.col("box") == middle["box"][0]).then(pl.col("weight") * by).otherwise(pl.col("weight"))
        buffer = io.BytesIO()
        frame.with_columns(changed).write_parquet(buffer)
        body = copy.deepcopy(bundle.body)
        body["predicate"]["statistics"] = []
        report = bundle.report(body, {"release.parquet": buffer.getvalue()})
        assert any("other weights follow" in one for one in report.problems)
    for at in leaves(said["weighed_by"]):
        for by in (0.9, 1.1):
            body = copy.deepcopy(bundle.body)
            body["predicate"]["statistics"] = []
            holder: Any = body["predicate"]["parameters"]["weighed_by"]
            for part in at[:-1]:
                holder = holder[part]
            holder[at[-1]] = float(f"{holder[at[-1]] * by:.1e}") if by * holder[at[-1]] < 1 else holder[at[-1]] + 1
            assert any("weighed_by" in one for one in bundle.report(body).problems), (at, by)


@pytest.mark.parametrize("shape", [None, 1, "x", [], [1], {}, [[1]], True, [None, None], {"a": None}])
def test_a_claim_of_no_shape_is_not_checked_and_ends_nothing(bundles: Callable[[str], Bundle], shape: Any) -> None:
    bundle = bundles("cells")
    few = of_two_statistics(bundle.body)
    for place in few["predicate"]["statistics"][0]:
        body = copy.deepcopy(few)
        body["predicate"]["statistics"][0][place] = shape
        with contextlib.suppress(UnreadableError):
            bundle.report(body)
    for place in few["predicate"]["parameters"]:
        body = copy.deepcopy(few)
        body["predicate"]["parameters"][place] = shape
        with contextlib.suppress(UnreadableError):
            bundle.report(body)
