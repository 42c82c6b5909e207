"""What the specification of `frontier` and the dataset decide before a job is accepted, as `boxes` at each k."""

from collections.abc import Iterator

from app.contracts.inputs import Given
from app.errors import FieldError, pointer
from app.methods.boxes.check import check_boxes, fill_boxes
from app.methods.frontier.spec import FrontierSpec, measured_columns


def fill_frontier(spec: FrontierSpec, given: Given) -> FrontierSpec:
    """The specification with the statistics and kept columns that `boxes` has by default."""
    filled = fill_boxes(spec.at(spec.k[0]), given)
    return spec.model_copy(update={"statistics": filled.statistics, "keep": filled.keep})


def check_frontier(spec: FrontierSpec, given: Given) -> list[FieldError]:
    """Everything that is wrong at some k, once, each with its pointer."""
    errors: dict[FieldError, None] = {}
    for index, k in enumerate(spec.k):
        for one in check_boxes(spec.at(k), given):
            where = f"/k/{index}" if one.pointer == "/k" else one.pointer
            errors.setdefault(FieldError(where, one.detail))
    for error in _wrong_records(spec, given):
        errors.setdefault(error)
    return list(errors)


def _wrong_records(spec: FrontierSpec, given: Given) -> Iterator[FieldError]:
    """Records that are not there, or that have no half-widths."""
    if spec.records is None:
        return
    if not measured_columns(spec.at(spec.k[0]), given.profile()):
        detail = (
            "half-widths are measured in numeric `quasi_identifiers` that a mean, variance, covariance, correlation, "
            "regression or prediction is of: name such a statistic of them"
        )
        yield FieldError("/records", detail)
    for index, row in enumerate(() if spec.records == "all" else spec.records):
        if row >= given.profile().rows:
            yield FieldError(pointer("records", index), f"the dataset has rows 0 to {given.profile().rows - 1}")
