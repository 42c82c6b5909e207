"""Classifiers of who is the group's: trained on the auxiliary data, applied to a file's records by place."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from app.errors import InfeasibleError
from app.methods.group.spec import GroupSpec
from app.methods.microfile.attacks import (
    ClassifierReport,
    ClassifierScope,
    DrivingColumn,
    MovedRecords,
    PrecisionAtRecall,
)
from app.methods.microfile.spec import OutlierOptions, Recodings
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.classifiers.attack import (
    CLASSIFIERS,
    RECALLS,
    Classifier,
    Judged,
    auc,
    judged,
    precision_at,
    sample,
    trained,
)
from workers.algorithms.groups.classifiers.coding import Codes, Coding, coded, coding
from workers.algorithms.groups.signals.profile import precision, ranks
from workers.frames.cells import cells, kinds, together, vital_rows
from workers.frames.harmonised import column_names, sources
from workers.methods.microfile.attack import stand_out

#: Columns that drive a classifier and are named.
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Learned:
    """Classifiers, how well they do on the data they come from, and what they read."""

    names: tuple[str, ...]
    how: Coding
    sampled: int
    positive: int
    models: tuple[tuple[Classifier, Judged], ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of all records of a file, in its order: (rows,) for each classifier."""

    learned: Learned
    scores: tuple[FloatArray, ...]


def common_columns(
    learned: GroupSpec, paths: tuple[Path, Path], recodings: tuple[Recodings, Recodings], left_out: Iterable[str]
) -> tuple[str, ...]:
    """Columns that both files have, of one kind, but for those that name the group or a place, or are left out.

    Raises
    ------
    InfeasibleError
        There is none.
    """
    names = [_names(path, recode) for path, recode in zip(paths, recodings, strict=True)]
    group_columns = {one.column for one in learned.conditions}
    hidden = {
        source
        for recode in recodings
        for name in (*group_columns, *left_out)
        for source in (name, *sources(name, recode))
    }
    both = [name for name in names[0] if name in set(names[1])]
    free = [name for name in both if not any(hidden & {name, *sources(name, recode)} for recode in recodings)]
    first, second = (kinds(path, free, recode) for path, recode in zip(paths, recodings, strict=True))
    common = tuple(name for name in free if first.get(name) == second.get(name))
    if not common:
        detail = "no column that both files have is left: there is nothing that a classifier could read"
        raise InfeasibleError.at("/auxiliary_dataset_id", detail)
    return common


def _names(path: Path, recode: Recodings) -> list[str]:
    return list(dict.fromkeys((*column_names(path), *recode)))


def learn(
    learned: GroupSpec,
    path: Path,
    names: Sequence[str],
    count: int,
    rng: np.random.Generator,
    tick: Callable[[float], None],
) -> Learned:
    """Train classifiers on a sample of the auxiliary data, and judge them by cross-validation.

    Raises
    ------
    InfeasibleError
        Fewer than ten records are the group's, or not.
    """
    recode = learned.recode.auxiliary
    vital = vital_rows(path, [(one.column, one.values) for one in learned.conditions], recode)
    if min(int(vital.sum()), int((~vital).sum())) < _FEWEST:
        detail = f"{int(vital.sum())} of {len(vital)} records are the group's: at least {_FEWEST} of both are needed"
        raise InfeasibleError.at("/auxiliary_dataset_id", detail)
    rows = sample(vital, count, rng)
    columns = together(list(cells(path, names, recode, rows)))
    tick(0.2)
    how, y, share = coding(columns), vital[rows], float(vital.mean())
    codes = coded(how, columns)
    models = []
    for at, name in enumerate(CLASSIFIERS):
        start = 0.2 + 0.4 * at

        def report_tick(done: float, start: float = start) -> None:
            tick(start + 0.3 * done)

        how_well = judged(name, codes, y, share, how.categorical, rng, report_tick)
        models.append((trained(name, codes, y, share, how.categorical, seed=0), how_well))
        tick(start + 0.4)
    return Learned(tuple(names), how, len(rows), int(y.sum()), tuple(models))


_FEWEST: Final = 10


def score(learned: Learned, path: Path, recode: Recodings, tick: Callable[[float], None]) -> Scored:
    """Scores of all records of a file."""
    chunks: list[list[FloatArray]] = [[] for _ in learned.models]
    for part in cells(path, learned.names, recode):
        codes = coded(learned.how, part.columns)
        for codes_of_some in _some(codes):
            for scores, (model, _) in zip(chunks, learned.models, strict=True):
                scores.append(model.probabilities(codes_of_some))
            tick(0.5)
    return Scored(learned, tuple(np.concatenate([*scores, np.empty(0)]) for scores in chunks))


def _some(codes: Codes) -> Iterator[Codes]:
    for start in range(0, len(codes), _AT_ONCE):
        yield codes[start : start + _AT_ONCE]


#: Records scored between two ticks.
_AT_ONCE: Final = 100_000


@dataclass(frozen=True, slots=True)
class Standing:
    """Where records are: (rows,) place, -1 for none; (rows,) whether in range; places; those that matter.

    `moved` and `group` are rows of the fuzzy group outside the masked places: who was moved there, and all of them.
    """

    place: IntArray
    in_range: BoolArray
    places: int
    wanted: tuple[int, ...]
    outliers: OutlierOptions
    moved: IntArray | None = None
    group: IntArray | None = None


def reports(scored: Scored, standing: Standing) -> tuple[ClassifierReport, ...]:
    """What each classifier states about the places."""
    learned = scored.learned
    return tuple(
        ClassifierReport(
            name=model.name,
            columns=learned.names,
            training_records=learned.sampled,
            training_members=learned.positive,
            auc=_number(how_well.auc),
            precision_at_recall=tuple(
                PrecisionAtRecall(recall=recall, precision=value)
                for recall, value in zip(RECALLS, how_well.precision, strict=True)
            ),
            driving_columns=tuple(_driving(learned.names, how_well.driving)),
            all_records=_scope(scores, standing, standing.place >= 0),
            out_of_range=_scope(scores, standing, (standing.place >= 0) & ~standing.in_range),
            moved=_moved(scores, standing),
        )
        for scores, (model, how_well) in zip(scored.scores, learned.models, strict=True)
    )


def _driving(names: Sequence[str], falls: FloatArray) -> Iterator[DrivingColumn]:
    for at in np.argsort(-falls, kind="stable")[:_NAMED]:
        yield DrivingColumn(column=names[at], auc_lost=float(falls[at]))


def _scope(scores: FloatArray, standing: Standing, rows: BoolArray) -> ClassifierScope | None:
    """Expected members by place, of some rows; None where there are no rows."""
    if not rows.any() or standing.places < 1:
        return None
    signal = np.bincount(standing.place[rows], weights=scores[rows], minlength=standing.places).astype(np.float64)
    ranking = ranks(signal)
    outliers = stand_out(signal, standing.outliers, ()).indexes
    return ClassifierScope(
        records=int(rows.sum()),
        signal=tuple(float(value) for value in signal),
        outliers=outliers,
        detected=tuple(place for place in outliers if place in standing.wanted),
        ranks=tuple(float(ranking[place]) for place in standing.wanted),
        precision=precision(signal, standing.wanted) if standing.wanted else None,
    )


def _moved(scores: FloatArray, standing: Standing) -> MovedRecords | None:
    if standing.moved is None or standing.group is None or not len(standing.moved):
        return None
    y = np.isin(standing.group, standing.moved)
    if not y.any():  # all who were moved went from one masked place to another
        return None
    here = scores[standing.group]
    ones = np.ones(len(here))
    return MovedRecords(
        records=len(here),
        moved=int(y.sum()),
        auc=_number(auc(here, y)),
        precision_at_recall=tuple(
            PrecisionAtRecall(recall=recall, precision=precision_at(here, y, ones, recall)) for recall in RECALLS
        ),
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
