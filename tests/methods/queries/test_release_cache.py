"""What a worker keeps of releases is bounded, by room and by time."""

from dataclasses import dataclass

import pytest

from workers.methods.queries.cache import IDLE_SECONDS, ReleaseCache


@dataclass(frozen=True)
class Held:
    name: str
    nbytes: int


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Shelf:
    """A cache, and how often each value was made."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.cache = ReleaseCache(clock=self.clock)
        self.made: list[str] = []

    def get(self, name: str, nbytes: int = 40) -> Held:
        def make() -> Held:
            self.made.append(name)
            return Held(name, nbytes)

        entry = self.cache.get((name, "count"), make, room=100)
        assert entry.name == name
        assert self.cache.nbytes <= 100
        return entry


def test_what_was_used_last_stays() -> None:
    shelf = Shelf()
    for name in ("a", "b", "a", "c", "a", "b"):
        shelf.get(name)
    assert shelf.made == ["a", "b", "c", "b"], "c took the place of b, which was asked for longer ago than a"


def test_what_is_larger_than_the_room_is_answered_and_not_kept() -> None:
    shelf = Shelf()
    shelf.get("a")
    shelf.get("large", 101)
    shelf.get("large", 101)
    shelf.get("a")
    assert shelf.made == ["a", "large", "large"]


def test_what_nobody_asks_for_is_let_go() -> None:
    shelf = Shelf()
    shelf.get("a")
    shelf.clock.now = IDLE_SECONDS
    shelf.get("b")
    assert shelf.cache.nbytes == 80
    shelf.clock.now = 2 * IDLE_SECONDS + 1
    shelf.get("c")
    assert shelf.cache.nbytes == 40


def test_what_could_not_be_made_is_tried_again() -> None:
    cache = ReleaseCache()

    def fail() -> Held:
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        cache.get(("a",), fail, room=100)
    assert cache.get(("a",), lambda: Held("a", 1), room=100).name == "a"
