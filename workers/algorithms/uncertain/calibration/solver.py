"""Scales and anonymities of many records, some work at a time, on several threads.

Notation
--------
tree : records in leaf order, in scaled units.  shape : the metric, see calibration.kernels.
need : k.  sigma : scale.  A : expected anonymity.
"""

import itertools
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtr

from surebox_core.steps import finished
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.bins import CELLS, REACH
from workers.algorithms.uncertain.calibration.journal import Journal, Outcome, remembered
from workers.algorithms.uncertain.calibration.kernels import gaussian
from workers.algorithms.uncertain.calibration.overlaps import uniform
from workers.algorithms.uncertain.density.densities import Model
from workers.algorithms.uncertain.neighbours.tree import Tree

_SECONDS = 0.2  # of work between two pauses


@dataclass(frozen=True)
class Solved:
    """Results in the order of the question's rows.

    Attributes
    ----------
    scale : (m,), sigma as given, or the smallest with A >= k; NaN where there is none.
    anonymity : (m,), certain lower bound of A there; the supremum where scale is NaN.
    missing : (m,), bound of what it lacks; infinite where the search stopped early.
    """

    scale: FloatArray
    anonymity: FloatArray
    missing: FloatArray


@dataclass(frozen=True)
class Question:
    """What to find for which rows.

    Attributes
    ----------
    rows : (m,) of the tree; neighbours one after the other are quickest.
    need : (m,) k.
    given : (m,) sigma where the anonymity at a given scale is wanted, or None: sigma itself is.
    early : stop at a given sigma as soon as A is known to reach k.
    """

    rows: IntArray
    need: FloatArray
    given: FloatArray | None = None
    early: bool = False

    def part(self, first: int, last: int) -> "Question":
        """The same of some of the rows."""
        given = None if self.given is None else self.given[first:last]
        return Question(self.rows[first:last], self.need[first:last], given, self.early)


@cache
def _table() -> FloatArray:
    """(2, cells + 1): Q and its steepness at every cell's edge."""
    t = np.arange(int(REACH * CELLS) + 1) / CELLS
    return np.ascontiguousarray(np.stack([ndtr(-t), np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi)]))


def _budget(shape: FloatArray) -> int:
    """Visits of a record that take about `_SECONDS`."""
    return int(_SECONDS / (4e-9 + 0.6e-9 * shape.shape[1]))


def _run(
    tree: Tree,
    model: Model,
    shape: FloatArray,
    question: Question,
    tolerance: float,
    out: Solved,
    part: tuple[int, int],
) -> int:
    """Work on a part of the question within the budget; returns how many are done."""
    cut = slice(*part)
    queries, need = question.rows[cut], question.need[cut]
    given = np.full(len(queries), -1.0) if question.given is None else question.given[cut]
    places = (tree.start, tree.end, tree.box, shape, queries, need, given, question.early)
    scale, anonymity, missing = out.scale[cut], out.anonymity[cut], out.missing[cut]
    budget = _budget(shape)
    if model == "gaussian":
        return int(gaussian(tree.rows, tree.blocked, *places, tolerance, _table(), budget, scale, anonymity, missing))
    done = int(uniform(tree.rows, *places, budget, scale, anonymity))
    missing[:done] = np.inf if question.early else 0.0
    return done


def solving(
    tree: Tree,
    model: Model,
    shape: FloatArray,
    question: Question,
    *,
    tolerance: float,
    threads: int,
    journal: Journal | None = None,
    piece: int = 1 << 16,
) -> Generator[float, None, Solved]:
    """Answer a question; yields the share done about every fifth of a second of work, returns the answers.

    Parameters
    ----------
    tree : records.
    shape : (1 or N, n) or (1 or N, n n), rows in leaf order.
    question : the request.
    tolerance : of the anonymity, relative.
    threads : used.
    journal : where answers are remembered.
    piece : rows whose answers are remembered at a time.

    Notes
    -----
    AG eqs. 10 and 15. Results do not depend on the number of threads beyond the tolerance: a record's answer starts
    from its predecessor's scale as a guess.
    """
    m = len(question.rows)
    journal = Journal() if journal is None else journal
    outcomes: list[Outcome] = [{name: np.empty(0) for name in _remembered(question)}]
    for first in range(0, m, piece):
        part = question.part(first, min(first + piece, m))
        work = _solving(tree, model, shape, part, tolerance=tolerance, threads=threads)
        outcomes.append((yield from remembered(journal, "piece", _within(work, first / m, len(part.rows) / m))))
    arrays = {name: np.concatenate([each[name] for each in outcomes]) for name in outcomes[0]}
    if not question.early or question.given is None:
        return Solved(**arrays)
    return Solved(scale=question.given, missing=np.full(m, np.inf), **arrays)


def _remembered(question: Question) -> tuple[str, ...]:
    """The unknown facts of the answers beforehand."""
    return ("anonymity",) if question.early else ("scale", "anonymity", "missing")


def _within(work: Generator[float, None, Outcome], begin: float, share: float) -> Generator[float, None, Outcome]:
    """Some work as a share of the whole."""
    while True:
        try:
            part = next(work)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        yield begin + share * part


def _solving(
    tree: Tree, model: Model, shape: FloatArray, question: Question, *, tolerance: float, threads: int
) -> Generator[float, None, Outcome]:
    """Answer a question on several threads."""
    m = len(question.rows)
    out = Solved(np.empty(m), np.empty(m), np.empty(m))
    yield from spread(lambda part: _run(tree, model, shape, question, tolerance, out, part), m, threads)
    return {name: getattr(out, name) for name in _remembered(question)}


def spread(run: Callable[[tuple[int, int]], int], number: int, threads: int) -> Generator[float, None, None]:
    """Give a number of places to several threads, part by part; yields the share that is done.

    Parameters
    ----------
    run : works on the places from the first up to the second for about a fifth of a second; returns how many are done.
    number : of places.
    threads : used.
    """
    edges = np.linspace(0, number, threads + 1).astype(int).tolist()
    parts = [(a, b) for a, b in itertools.pairwise(edges) if a < b]
    with ThreadPoolExecutor(threads) as pool:
        while parts:
            done = (map if len(parts) == 1 else pool.map)(run, parts)  # a pool starts its threads when they are needed
            parts = [(a + d, b) for (a, b), d in zip(parts, done, strict=True) if a + d < b]
            while (
                parts
                and len(parts) < threads
                and (longest := max(parts, key=lambda p: p[1] - p[0]))[1] - longest[0] > 1
            ):
                parts.remove(longest)
                middle = sum(longest) // 2
                parts += [(longest[0], middle), (middle, longest[1])]
            yield 1.0 - sum(b - a for a, b in parts) / number


def answered(
    tree: Tree, model: Model, shape: FloatArray, question: Question, *, tolerance: float, threads: int = 1
) -> Solved:
    """Answer a question at once; see `solving`."""
    return finished(solving(tree, model, shape, question, tolerance=tolerance, threads=threads))
