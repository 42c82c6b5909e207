"""Statistics that boxes are not made narrow for: of kept columns, and within intervals.

They are answered from the rows as they are released, once the boxes are there, as the same question would be later and
as whoever verifies the release computes them. So they decide nothing: neither where boxes are cut nor what is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from app.contracts.box_statistics import AboutCore, RestrictedStatistic, StatisticKind, steers
from app.contracts.boxes import BoxesSpec, RareRecords
from app.contracts.releases import ReleaseFormat
from app.contracts.warnings import Warning  # noqa: A004 - the word of the HTTP contract
from app.errors import FieldError, InvalidError, SureboxError, pointer
from surebox_verify.answering import answering
from surebox_verify.envelope import UnreadableError
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
from workers.methods.boxes.certified import PUBLIC
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome, ReleaseDraft

_PLACE: Final = re.compile(r"(?:/spec)?/statistics/(\d+)(/.*)?")
_CORE: Final = "core"


def steering(spec: BoxesSpec) -> BoxesSpec:
    """The specification with those of its statistics that boxes are made narrow for.

    Parameters
    ----------
    spec
        What is asked.
    """
    listed = spec.statistics or ()
    return spec.model_copy(update={"statistics": tuple(listed[place] for place in places(spec))})


def places(spec: BoxesSpec) -> list[int]:
    """Places of these statistics among all."""
    return [place for place, one in enumerate(spec.statistics or ()) if steers(one, spec.columns)]


def repointed(error: SureboxError, spec: BoxesSpec) -> SureboxError:
    """An error about statistics that boxes are made narrow for, with their places among all.

    Parameters
    ----------
    error
        What was raised.
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

    Raises
    ------
    InvalidError
        A statistic about a value that a declared codebook does not have.
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
    asked = spec.model_dump(mode="json", include={"statistics"})
    return replace(
        outcome,
        summary=result,
        result=result,
        warnings=[_rewarned(one, among) for one in outcome.warnings],
        release=replace(
            draft,
            statistics=public,
            parameters={**draft.parameters, **asked},
            warnings=[_rewarned(one, among) for one in draft.warnings],
        ),
    )


def _rewarned(one: Warning, among: Sequence[int]) -> Warning:
    where = one.pointer
    return one if where is None else one.model_copy(update={"pointer": _moved(where, among)})


def _by_statistic(entries: Sequence[Mapping[str, Any]], asked: Sequence[Any]) -> Iterator[list[Mapping[str, Any]]]:
    """The entries of each statistic: several where it names no value."""
    rest = list(entries)
    for one in asked:
        mine = [rest.pop(0)]
        each = one.kind is StatisticKind.CROSSTAB or (
            one.kind in (StatisticKind.SHARE, StatisticKind.DOMAIN_MEAN) and one.values is None
        )
        named = [mine[0]["values"]]
        while each and rest and _same(rest[0], mine[0]) and rest[0]["values"] not in named:
            named.append(rest[0]["values"])
            mine.append(rest.pop(0))
        yield mine


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one["kind"] == other["kind"] and list(one["of"]) == list(other["of"])


def _answers(
    draft: ReleaseDraft, job: JobContext, spec: BoxesSpec, these: Sequence[int]
) -> Iterator[list[dict[str, Any]]]:
    """The entries of some statistics, from the rows as they are released."""
    types = {str(column["name"]): str(column["type"]) for column in draft.columns}
    path, parameters = draft.files[ReleaseFormat.PARQUET].path, draft.parameters
    boxes = read_boxes(
        path,
        spec.columns,
        weight=weight_of(parameters, types),
        orders=parameters.get("ordinal"),
        means=has_means(parameters),
    )
    kept = plain_columns(path, spec.keep)
    asked = spec.model_dump(mode="json", include={"statistics"})["statistics"]
    questions = [question(asked[place], ddof=spec.ddof) for place in these]
    meaning = meaning_of(parameters, types)

    def books(parts: ReleasedBoxes, names: Sequence[str]) -> Mapping[str, Codebook]:
        return codebooks_of(parts, parameters, beside=names, verbatim=True)

    def answered(these_boxes: ReleasedBoxes, rows: Any, some: Sequence[Question], *, by_value: bool) -> Any:
        work = answering(these_boxes, rows, some, meaning, books, by_value=by_value, refuse=False)
        return job.through(work, "ranges")

    try:
        found = answered(boxes, kept, questions, by_value=True)
    except UnreadableError as error:
        detail = str(error)
        raise InvalidError(detail, errors=[FieldError(pointer("statistics"), detail)]) from None
    of_core = [[None] * len(entries) for entries in found]
    if spec.rare_records is RareRecords.MARK:
        rows = np.asarray(plain_columns(path, [_CORE]).column(_CORE).to_numpy(), dtype=np.bool_)
        again = [question(entry, ddof=spec.ddof) for entries in found for entry in entries]
        of_rows = kept.take(np.flatnonzero(rows)) if spec.keep else kept
        core = iter(answered(taking_rows(boxes, rows), of_rows, again, by_value=False))
        of_core = [[next(core)[0] for _ in entries] for entries in found]
    for entries, cores in zip(found, of_core, strict=True):
        yield [_entry(*each) for each in zip(entries, cores, strict=True)]


def _entry(entry: Mapping[str, Any], core: Mapping[str, Any] | None) -> dict[str, Any]:
    """One of the result's statistics; what compares it with records that the release does not have is null."""
    about = None if core is None else AboutCore(**{name: core[name] for name in AboutCore.model_fields})
    made = RestrictedStatistic(**entry, weight=0.0, core=about, true_value=None, shift=None)
    return made.model_dump(mode="json")
