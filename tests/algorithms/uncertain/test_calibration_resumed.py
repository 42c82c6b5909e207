"""A calibration that was interrupted goes on from what it remembered, to the very densities of an undisturbed one."""

import io
from typing import Any

import numpy as np
import pytest

from tests.algorithms.uncertain import oracle
from workers.algorithms.uncertain.calibration import calibration
from workers.algorithms.uncertain.calibration import solver as calibration_solver
from workers.algorithms.uncertain.calibration.calibration import CalibrationState
from workers.algorithms.uncertain.calibration.journal import Journal, remembered
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest

PIECE = 150  # so that many places to be interrupted at are tried with few records
REQUESTS = [
    CalibrationRequest(k=5.0, piece=PIECE),
    CalibrationRequest(k=5.0, model="uniform", suppress_share=0.05, piece=PIECE),
    CalibrationRequest(k=4.0, scales="levels", suppress_share=0.0, piece=PIECE),
    CalibrationRequest(k=4.0, scales="levels", model="uniform", piece=PIECE),
    CalibrationRequest(k=5.0, scales="per_record", scaling="local", piece=PIECE),
    CalibrationRequest(k=5.0, scales="shared", scaling="rotated", piece=PIECE),
]


def stored(arrays: dict[str, Any]) -> dict[str, Any]:
    """As a checkpoint gives arrays back."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as read:
        return {name: read[name] for name in read.files}


def ended(state: CalibrationState) -> Calibrated:
    while not calibration.done(state):
        state = calibration.step(state)
    return calibration.result(state)


def same(one: Calibrated, other: Calibrated) -> bool:
    assert one.expected == other.expected
    assert (one.certified_error, one.zero_scale, one.cells) == (other.certified_error, other.zero_scale, other.cells)
    for name in ("rows", "unit", "scale", "axes", "anonymity"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    return True


@pytest.mark.parametrize("spec", REQUESTS, ids=lambda case: f"{case.scales}-{case.model}")
def test_wherever_it_is_interrupted_it_ends_with_the_same_densities(spec: CalibrationRequest) -> None:
    x = oracle.mixture(600)
    undisturbed = ended(calibration.init(x, spec))
    state, steps = calibration.init(x, spec), 0
    while not calibration.done(state):
        state, steps = calibration.step(state), steps + 1
        if steps % 3 == 1:
            assert same(ended(calibration.unpack(x, spec, stored(calibration.pack(state)))), undisturbed)
    assert same(ended(calibration.unpack(x, spec, stored(calibration.pack(state)))), undisturbed)


def test_what_is_remembered_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = oracle.mixture(600)
    spec = CalibrationRequest(k=4.0, scales="levels", suppress_share=0.0, piece=PIECE)
    state = calibration.init(x, spec)
    while not calibration.done(state):
        state = calibration.step(state)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(calibration_solver, "_run", refuse)
    assert same(ended(calibration.unpack(x, spec, calibration.pack(state))), calibration.result(state))


def test_work_that_has_ended_takes_the_place_of_what_it_was_made_of() -> None:
    """Or the journal of a long search would grow with every question."""

    def piece(value: float) -> Any:
        yield 0.0
        return {"value": np.array([value])}

    def whole(journal: Journal) -> Any:
        first = yield from remembered(journal, "piece", piece(1.0))
        second = yield from remembered(journal, "piece", piece(2.0))
        return {"value": first["value"] + second["value"]}

    journal = Journal()
    running = remembered(journal, "whole", whole(journal))
    next(running), next(running)
    assert [name for name, _ in journal.entries] == ["piece"]
    again = Journal(list(journal.entries))
    assert len(list(remembered(again, "whole", whole(again)))) == 1, "the first piece is known"
    assert [(name, entry["value"].tolist()) for name, entry in again.entries] == [("whole", [3.0])]


def test_the_journal_of_levels_holds_each_record_a_few_times_at_most() -> None:
    x = oracle.mixture(600)
    state = calibration.init(x, CalibrationRequest(k=4.0, scales="levels", suppress_share=0.0, piece=PIECE))
    while not calibration.done(state):
        state = calibration.step(state)
    assert sum(array.size for array in calibration.pack(state).values()) < 12 * len(x)
