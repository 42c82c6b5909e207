"""What the service refuses before a job is there: bodies by their types and by the rules of their methods, without it.

Places are those that an answer over HTTP would name: errors of types go through the service's own translation.
"""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app.api.invalid import field_errors
from app.api.schemas.jobs import body_of
from app.contracts.datasets import Profile
from app.contracts.inputs import Given
from app.contracts.jobs import JobKind
from app.errors import FieldError, InvalidError
from app.jobs.refusals import refusals
from app.methods.catalogue import METHODS
from app.methods.rules import RULES
from tests.methods.in_process import Bench


@cache
def _types(kind: JobKind) -> TypeAdapter[Any]:
    return TypeAdapter(body_of(kind))


def wrong_types(body: dict[str, Any]) -> list[FieldError]:
    """What the types of a body refuse."""
    try:
        _types(METHODS[body["method"]].kind).validate_python(body)
    except ValidationError as error:
        return field_errors([{**one, "loc": ("body", *one["loc"])} for one in error.errors()], body=body)
    return []


def refused(bench: Bench, body: dict[str, Any], pointer: str, says: str) -> None:
    """A body must be refused at a place, and be told why."""
    if not (errors := wrong_types(body)):
        try:
            errors = bench.accepted(body)[1]
        except InvalidError as error:
            errors = list(error.errors)
    assert pointer in {error.pointer for error in errors}, errors
    assert says in " ".join(error.detail for error in errors)
    _says_no_figure(bench, body)


def _says_no_figure(bench: Bench, body: dict[str, Any]) -> None:
    """Keys without `jobs:read` are told no number that is neither in the request nor the same whatever the data are."""
    check = RULES[body["method"]].check
    try:
        named = None if wrong_types(body) else bench.named(body)
    except InvalidError:
        return
    if named is None:  # the request alone makes it wrong
        return
    filled, given = named
    shown = refusals(check, filled, given, keeper=False)
    others = check(filled, _other_data(given))
    known = _numbers(json.dumps(body)) | {number for one in others for number in _numbers(one.detail)}
    assert shown, "a key that is told less is refused all the same"
    for error in shown:
        assert _numbers(error.detail) <= known, error


def _other_data(given: Given) -> Given:
    """Other data with the same columns: all that is known of them is another number."""

    def other(profile: Profile) -> Profile:
        return Profile(
            rows=max(profile.rows - 1, 0),
            columns=tuple(
                one.model_copy(update={"missing": one.missing + 1 if one.missing else 0, "distinct": one.distinct + 3})
                for one in profile.columns
            ),
            numeric={
                name: one.model_copy(update={
                    "finite_minimum": None if one.finite_minimum is None else 3 * one.finite_minimum - 7.5,
                    "finite_maximum": None if one.finite_maximum is None else 3 * one.finite_maximum + 7.5,
                    "infinite": one.infinite + 1 if one.infinite else 0,
                })
                for name, one in profile.numeric.items()
            },
        )  # fmt: skip

    datasets = {role: replace(one, profile=other(one.profile)) for role, one in given.datasets.items()}
    releases = {role: replace(one, rows=max(one.rows - 1, 0)) for role, one in given.releases.items()}
    return replace(given, datasets=datasets, releases=releases, earlier_draws=given.earlier_draws + 5)


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?", text))
