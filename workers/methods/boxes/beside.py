"""Statistics that boxes are not made narrow for: of kept columns, and within intervals.

They are answered from the rows as they are released, once the boxes are there, as a later question is, and as a
verification of the release computes them. So they decide nothing: neither where boxes are cut nor the left-out records.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import numpy as np

from app.contracts.releases import ReleaseFormat
from app.contracts.statistics import Statistic, StatisticKind, steers
from app.contracts.warnings import JobWarning
from app.errors import FieldError, SureboxError
from app.methods.boxes.result import CoreStatistic, RestrictedStatistic
from app.methods.boxes.spec import BoxesSpec, RareRecords
from surebox_verify.answering import answering
from surebox_verify.questions import Question, question
from surebox_verify.released.boxes import (
    ReleasedBoxes,
    has_means,
    meaning_of,
    read_boxes,
    taking_rows,
    weight_of,
)
from surebox_verify.released.codebooks import Codebook, codebooks_of
from workers.frames.columns import plain_columns
from workers.methods.boxes.statistic_entries import PUBLIC
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome, ReleaseDraft

_PLACE: Final = re.compile(r"(?:/spec)?/statistics/(\d+)(/.*)?")
_CORE: Final = "core"


def steering(spec: BoxesSpec) -> BoxesSpec:
    """The specification with those of its statistics that boxes are made narrow for.

    Parameters
    ----------
    spec
        The whole specification.
    """
    listed = spec.statistics or ()
    return spec.model_copy(update={"statistics": tuple(listed[place] for place in places(spec))})


def places(spec: BoxesSpec) -> list[int]:
    """Places of these statistics among all."""
    return [place for place, one in enumerate(spec.statistics or ()) if steers(one, spec.quasi_identifiers)]


def repointed(error: SureboxError, spec: BoxesSpec) -> SureboxError:
    """An error about statistics that boxes are made narrow for, with their places among all.

    Parameters
    ----------
    error
        The error that was raised.
    spec
        The whole specification.
    """
    error.errors = tuple(FieldError(_moved(one.pointer, places(spec)), one.detail) for one in error.errors)
    return error


def _moved(where: str, among: Sequence[int]) -> str:
    """A pointer to a statistic by its place among all."""
    match = _PLACE.fullmatch(where)
    if match is None:
        return where
    start = "/spec/statistics" if where.startswith("/spec") else "/statistics"
    return f"{start}/{among[int(match.group(1))]}{match.group(2) or ''}"


def with_all_statistics(outcome: Outcome, job: JobContext, spec: BoxesSpec) -> Outcome:
    """An outcome with the statistics that boxes are not made narrow for, all in the order of the specification.

    Parameters
    ----------
    outcome
        With those that they are made narrow for.
    job
        The job.
    spec
        The whole specification.
    """
    among, draft = places(spec), outcome.release
    if draft is None or len(among) == len(spec.statistics or ()):
        return outcome
    others = [place for place in range(len(spec.statistics or ())) if place not in among]
    answers = dict(zip(others, _answers(draft, job, spec, others), strict=True))
    own = _by_statistic(outcome.result["statistics"], [(spec.statistics or ())[place] for place in among])
    entries: dict[int, Sequence[Mapping[str, Any]]] = {**answers, **dict(zip(among, own, strict=True))}
    listed = [entry for place in sorted(entries) for entry in entries[place]]
    result = {**outcome.result, "statistics": listed}
    public = [{name: entry[name] for name in PUBLIC} for entry in listed]
    return replace(
        outcome,
        summary=result,
        result=result,
        warnings=[_rewarned(one, among) for one in outcome.warnings],
        release=replace(
            draft,
            statistics=public,
            parameters=_with_all(draft.parameters, spec),
            warnings=[_rewarned(one, among) for one in draft.warnings],
        ),
    )


def _with_all(parameters: Mapping[str, Any], spec: BoxesSpec) -> dict[str, Any]:
    """Public parameters with all statistics; those that boxes are not made narrow for have no prices."""
    whole = {**parameters, **spec.model_dump(mode="json", include={"statistics"})}
    if (prices := parameters.get("weighed_by", {}).get("prices")) is not None:
        priced = dict(zip(places(spec), prices, strict=True))
        of_all = [priced.get(place, []) for place in range(len(spec.statistics or ()))]
        whole["weighed_by"] = {**parameters["weighed_by"], "prices": of_all}
    return whole


def _rewarned(one: JobWarning, among: Sequence[int]) -> JobWarning:
    where = one.pointer
    return one if where is None else one.model_copy(update={"pointer": _moved(where, among)})


def _by_statistic(
    entries: Sequence[Mapping[str, Any]], statistics: Sequence[Statistic]
) -> Iterator[list[Mapping[str, Any]]]:
    """The entries of each statistic: several where it names no value, of the same columns equally many each time."""
    there = Counter((str(each["kind"]), tuple(each["of"])) for each in entries)
    one_each = Counter((str(each.kind), each.of) for each in statistics if not _has_several(each))
    several = Counter((str(each.kind), each.of) for each in statistics if _has_several(each))
    rest = iter(entries)
    for each in statistics:
        same = str(each.kind), each.of
        yield list(islice(rest, (there[same] - one_each[same]) // several[same] if _has_several(each) else 1))


def _has_several(statistic: Statistic) -> bool:
    """Whether a statistic has an entry for each value of its column, or for each cell."""
    if statistic.kind is StatisticKind.CROSSTAB:
        return True
    return statistic.kind in (StatisticKind.SHARE, StatisticKind.DOMAIN_MEAN) and statistic.values is None


def _answers(
    draft: ReleaseDraft, job: JobContext, spec: BoxesSpec, these: Sequence[int]
) -> Iterator[list[dict[str, Any]]]:
    """The entries of some statistics, from the rows as they are released."""
    types = {str(column["name"]): str(column["type"]) for column in draft.columns}
    path, parameters = draft.files[ReleaseFormat.PARQUET].path, draft.parameters
    boxes = read_boxes(
        path,
        spec.quasi_identifiers,
        weight=weight_of(parameters, types),
        orders=parameters.get("ordinal"),
        means=has_means(parameters),
    )
    kept = plain_columns(path, spec.keep)
    listed = spec.model_dump(mode="json", include={"statistics"})["statistics"]
    questions = [question(listed[place], ddof=spec.ddof) for place in these]
    meaning = meaning_of(parameters, types)

    def books(parts: ReleasedBoxes, names: Sequence[str]) -> Mapping[str, Codebook]:
        return codebooks_of(parts, parameters, beside=names)

    def answered(these_boxes: ReleasedBoxes, rows: Any, some: Sequence[Question], *, by_value: bool) -> Any:
        work = answering(these_boxes, rows, some, meaning, books, by_value=by_value, refuse=False)
        return job.through(work, "ranges")

    answers = answered(boxes, kept, questions, by_value=True)
    of_core = [[None] * len(entries) for entries in answers]
    if spec.rare_records is RareRecords.MARK:
        rows = np.asarray(plain_columns(path, [_CORE]).column(_CORE).to_numpy(), dtype=np.bool_)
        again = [question(entry, ddof=spec.ddof) for entries in answers for entry in entries]
        of_rows = kept.take(np.flatnonzero(rows)) if spec.keep else kept
        core = iter(answered(taking_rows(boxes, rows), of_rows, again, by_value=False))
        of_core = [[next(core)[0] for _ in entries] for entries in answers]
    for entries, cores in zip(answers, of_core, strict=True):
        yield [_entry(*each) for each in zip(entries, cores, strict=True)]


def _entry(entry: Mapping[str, Any], core: Mapping[str, Any] | None) -> dict[str, Any]:
    """One of the result's statistics; what compares it with records that the release does not have is null."""
    about = None if core is None else CoreStatistic(**{name: core[name] for name in CoreStatistic.model_fields})
    made = RestrictedStatistic(**entry, weight=0.0, core=about, true_value=None, shift=None)
    return made.model_dump(mode="json")
