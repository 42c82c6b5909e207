"""Tables of persons who come, leave, return and change, month by month."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

COLUMNS = {"who": pl.Int64, "row": pl.Int64, "x": pl.Float64, "y": pl.Int64, "town": pl.String, "ill": pl.String}


class History:
    """A table that changes: a few persons anywhere, and now and then many in one region.

    `several` rows a person; `kept_changes` as a share of the persons a month; `move` likewise; `missing` values of x.
    """

    def __init__(
        self, seed: int, persons: int = 300, *, several: int = 1, kept_changes: float = 0.0, move: float = 0.0,
        missing: float = 0.0, turnover: float = 0.05,
    ) -> None:  # fmt: skip
        self.draw = np.random.default_rng([808, seed])
        self.several, self.kept_changes, self.move = several, kept_changes, move
        self.missing, self.turnover = missing, turnover
        self.people: dict[int, list[dict[str, Any]]] = {}
        self.gone: dict[int, list[dict[str, Any]]] = {}
        self.next = 0
        for _ in range(persons):
            self._join(None)

    def _row(self, who: int, row: int, x: float) -> dict[str, Any]:
        draw = self.draw
        return {
            "who": who, "row": row, "x": None if draw.random() < self.missing else round(x, 6),
            "y": int(draw.integers(0, 40)), "town": str(draw.choice(["a", "b", "c"])),
            "ill": str(draw.choice(["p", "q"])),
        }  # fmt: skip

    def _join(self, region: tuple[float, float] | None) -> None:
        low, high = region or (0.0, 1.0)
        rows = int(self.draw.integers(1, self.several + 1))
        self.people[self.next] = [self._row(self.next, row, self.draw.uniform(low, high)) for row in range(rows)]
        self.next += 1

    def month(self) -> None:
        """Let a month pass."""
        draw, size = self.draw, len(self.people)
        self._leave([one for one in self.people if draw.random() < self.turnover])
        for _ in range(draw.poisson(self.turnover * size)):
            self._join(None)
        for _ in range(int(draw.integers(1, 4))):
            self._burst()
        for row in (row for rows in self.people.values() for row in rows):
            if draw.random() < self.kept_changes:
                row["ill"] = "q" if row["ill"] == "p" else "p"
            if draw.random() < self.move:
                row["x"] = round(draw.uniform(), 6)

    def _burst(self) -> None:
        """Many come to a region, leave it or return to it."""
        draw, low = self.draw, self.draw.uniform(0, 1)
        region = low, min(1.0, low + draw.uniform(0.05, 0.3))
        act = draw.choice(["come", "leave", "return"])
        if act == "come":
            for _ in range(int(draw.integers(5, 60))):
                self._join(region)
        elif act == "leave":
            share = draw.choice([0.3, 0.6, 1.0])
            self._leave([one for one in self._in(self.people, region) if draw.random() < share])
        else:
            for who in [one for one in self._in(self.gone, region) if draw.random() < 0.5]:
                self.people[who] = self.gone.pop(who)

    def _leave(self, persons: list[int]) -> None:
        for who in persons:
            self.gone[who] = self.people.pop(who)

    @staticmethod
    def _in(people: dict[int, list[dict[str, Any]]], region: tuple[float, float]) -> Iterator[int]:
        for who, rows in people.items():
            if rows[0]["x"] is not None and region[0] <= rows[0]["x"] <= region[1]:
                yield who

    def records(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Today's records."""
        return {(row["who"], row["row"]): dict(row) for rows in self.people.values() for row in rows}

    def frame(self) -> pl.DataFrame:
        """Today's table, in random order."""
        rows = [row for rows in self.people.values() for row in rows]
        return pl.DataFrame([rows[at] for at in self.draw.permutation(len(rows))], schema=COLUMNS)
