"""What the specification of `frontier` and the dataset decide before a job is accepted: what `boxes` says at each k."""

from app.contracts.inputs import Given
from app.errors import FieldError
from app.methods.boxes.check import check_boxes, fill_boxes
from app.methods.frontier.spec import FrontierSpec


def fill_frontier(spec: FrontierSpec, given: Given) -> FrontierSpec:
    """The specification with the statistics that `boxes` has by default."""
    filled = fill_boxes(spec.at(spec.k[0]), given)
    return spec.model_copy(update={"statistics": filled.statistics})


def check_frontier(spec: FrontierSpec, given: Given) -> list[FieldError]:
    """Everything that is wrong at some k, once, each with its pointer."""
    errors: dict[FieldError, None] = {}
    for index, k in enumerate(spec.k):
        for one in check_boxes(spec.at(k), given):
            where = f"/k/{index}" if one.pointer == "/k" else one.pointer
            errors.setdefault(FieldError(where, one.detail))
    return list(errors)
