"""Whatever is done to tables between their releases, k is never told above what it is for who knows who is who."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from workers.frames.ledger import write_ledger
from workers.methods.released.composed import composed_with
from workers.methods.released.earlier import Earlier, FamilyTerms
from workers.methods.released.release_exposure import write_exposure

KEY, TABLES = bytes(range(32)), 3
Frame = pl.DataFrame


def people(draw: np.random.Generator, rows: int, start: int) -> Frame:
    """Persons with numbers of their own; those who come later have values that nobody had before."""
    return pl.DataFrame({
        "who": np.arange(start, start + rows), "age": draw.integers(20, 26, rows) + start,
        "hours": draw.integers(0, 4, rows) * 10 + start * 3, "pay": (draw.permutation(rows) * 7.5) + start * 1000.0,
        "sex": draw.choice(["f", "m", "x"], rows, p=[0.5, 0.3, 0.2]),
    })  # fmt: skip


def changed(draw: np.random.Generator, frame: Frame, columns: list[str]) -> tuple[Frame, list[str]]:
    """A table with a few things done to it, and the columns that the next release may be about."""
    for act in draw.choice(
        ["rename", "scale", "turn", "class", "drop", "come", "leave", "age", "mix"], 2, replace=False
    ):
        name = str(draw.choice(columns))
        numeric = frame[name].dtype.is_numeric()
        if act == "rename":
            frame = frame.rename({name: f"{name}'"})
            columns = [f"{one}'" if one == name else one for one in columns]
        elif act in {"scale", "turn"} and numeric:
            frame = frame.with_columns(pl.col(name) * (100 if act == "scale" else -3))
        elif act == "class" and not numeric:
            frame = frame.with_columns(pl.col(name).str.to_uppercase() + "!")
        elif act == "drop" and len(columns) > 2:
            frame, columns = frame.drop(name), [one for one in columns if one != name]
        elif act == "leave":
            frame = frame.filter(draw.random(len(frame)) < 0.8)
        elif act == "age" and numeric:
            frame = frame.with_columns(
                pl.when(pl.Series(draw.random(len(frame)) < 0.3)).then(pl.col(name) + 1).otherwise(name)
            )
        elif act == "mix":  # other values for everybody, one by one no new ones
            frame = frame.with_columns(pl.col(name).shuffle(seed=int(draw.integers(99))))
    return frame.sample(fraction=1, shuffle=True, seed=int(draw.integers(99))), columns


def release(
    draw: np.random.Generator, frame: Frame, columns: list[str]
) -> tuple[Frame, dict[str, Any], dict[int, int]]:
    """A table of boxes, of one to three quantiles of each column; its specification; the box of each person."""
    codes, sides = [], {}
    for name in columns:
        parts = int(draw.integers(1, 4))
        ranks = frame[name].rank("dense").to_numpy() - 1
        codes.append((ranks * parts // (ranks.max() + 1)).astype(int))
    box = pl.Series("box", [hash(one) for one in zip(*codes, strict=True)]).rank("dense").cast(pl.Int64)
    rows = frame.with_columns(box)
    for name in columns:
        one = pl.col(name)
        if frame[name].dtype.is_numeric():
            sides |= {f"{name}_lo": one.min().over("box"), f"{name}_hi": one.max().over("box")}
        else:
            sides |= {f"{name}_set": one.unique().sort().implode().over("box", mapping_strategy="join")}
    table = pl.DataFrame({"box": box}).hstack(rows.select(**sides)) if sides else rows.select("box")
    return table, {"method": "boxes", "quasi_identifiers": columns, "k": 2}, dict(zip(frame["who"], box, strict=True))


@pytest.mark.parametrize("seed", range(24))
def test_k_is_never_told_above_what_it_is(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng([232, seed])
    frame, columns, places, earlier = people(draw, 80, 0), ["age", "hours", "pay", "sex"], [], []
    gone = bool(draw.integers(2))
    for at in range(TABLES):
        if at:
            frame, columns = changed(draw, frame, columns)
            if draw.random() < 0.3 and set(columns) == {"age", "hours", "pay", "sex"}:
                frame = pl.concat([frame, people(draw, 12, 1000 * at)], how="vertical_relaxed")
        about = [str(one) for one in draw.choice(columns, min(2, len(columns)), replace=False)]
        rows, spec, where = release(draw, frame, about)
        data, made, ledger, persons = (tmp_path / f"{at}.{kind}" for kind in ("data", "rows", "ledger", "persons"))
        frame.drop("who").write_parquet(data)
        rows.write_parquet(made)
        write_ledger(made, ledger, method="boxes", spec=spec)
        terms = FamilyTerms(dataset_id=str(at), key=KEY, under="key")
        write_exposure(data, ledger, persons, terms=terms)
        composition = composed_with(data, spec, ledger, earlier, rng=draw, terms=terms)
        places.append(where)
        everybody = set().union(*places)
        truth = min(Counter(tuple(one.get(who) for one in places) for who in everybody).values())
        assert composition.composed_k <= truth, (composition, truth)
        least = 1 if composition.unplaced else truth
        assert composition.composed_k == least, "and it is that, where all persons are placed"
        earlier.append(
            Earlier(
                str(at), "boxes", ledger, dataset_id=str(at), dataset=None if gone else data, persons=persons, key=KEY
            )
        )
