"""What can be determined of a request before any work.

Notation as in boxes.sides.
"""

from dataclasses import replace

import numpy as np

from surebox_core.errors import InvalidColumnError
from surebox_core.moments import check_records
from surebox_core.statistics import check_statistics
from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.boxes.bounds import check_domains
from workers.algorithms.boxes.content import box_means_fault
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints, check_demands
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NumericColumn
from workers.algorithms.core.errors import InfeasibleAlphaError, InfeasibleKError
from workers.algorithms.core.winsorized import ends

_MOST_STEPS = 2.0**53


def check(x: FloatArray, request: BoxesRequest) -> None:
    """Refuse what `anonymization.init` states it refuses.

    Parameters
    ----------
    x : (N, n) records.
    request : the request about them.
    """
    _check_numbers(x, request)
    check_statistics(request.statistics, x.shape[1], [column.values for column in request.nominal], _sizes(request))
    if request.k < 1 or not 0.0 < request.confidence < 1.0:
        msg = f"k must be at least 1 and confidence in (0, 1), got {request.k} and {request.confidence}"
        raise ValueError(msg)
    if request.ddof not in ((0,) if request.rare_records == "weigh" else (0, 1)):
        msg = f"ddof must be 0 or 1, and 0 where records are weighed (they have no sample size), got {request.ddof}"
        raise ValueError(msg)
    if (fault := rare_fault(request)) is not None:
        raise ValueError(fault)
    if request.box_means != "none" and (request.survey is not None or request.rare_records != "keep"):
        msg = "means inside boxes are those of all records, which count alike"
        raise ValueError(msg)
    steps = tuple(column.sum_step for column in request.columns if column.has_means)
    if (fault := box_means_fault(request.box_means, request.k, request.bounds, steps)) is not None:
        raise ValueError(fault)
    if request.k > len(x):
        raise InfeasibleKError(request.k, len(x))
    _check_demands(request.demands, request.k)
    if request.domains:
        check_domains(x, request.domains)
    _check_columns(x, request)


def _sizes(request: BoxesRequest) -> list[int | None]:
    """Number of values in the order of each numeric column; None of a column without one."""
    return [None if column.labels is None else len(column.labels) for column in request.columns]


def rare_fault(request: BoxesRequest) -> str | None:
    """What `rare_records` cannot be together with; None where nothing.

    Parameters
    ----------
    request : the request.

    Notes
    -----
    science.md section 5, "Rare records": the core follows from centres, counts and published weights of boxes, whatever
    their columns and demands are, and whichever they lack. Weights, and the papers' objective, go by rounded moments,
    which sets have none of.
    """
    rare = request.rare_records
    if rare == "keep" or request.plain:
        return None
    if rare == "weigh" or (rare == "suppress" and request.objective == "paper"):
        return "weights and the papers' objective take complete numbers, their moments, and k, l and widths of cells"
    if rare == "suppress" and request.demands.t is not None:
        return "t compares boxes with all records: no box is left out with it"
    return None


def check_left(x: FloatArray, request: BoxesRequest, demands: BoxConstraints) -> None:
    """Refuse demands that all records met, and those that are left after others were left out do not.

    Parameters
    ----------
    x : records that are left.
    request : the request.
    demands : of these records.

    Raises
    ------
    InfeasibleKError, InfeasibleDiversityError, InfeasibleAlphaError, InvalidColumnError
        Not even one box of all of them would do.
    """
    _check_demands(demands, request.k)
    for index, column in enumerate(request.columns):
        if column.min_width > 0.0 and np.ptp(x[:, index]) < column.min_width:
            detail = f"values of the records that are left do not span the least width {column.min_width:g}"
            raise InvalidColumnError(index, detail)


def _check_numbers(x: FloatArray, request: BoxesRequest) -> None:
    if len(x) == 0:
        raise InfeasibleKError(request.k, 0)
    if x.ndim != 2 or x.dtype != np.float64 or x.shape[1] + len(request.nominal) == 0:
        msg = f"records must be a float64 matrix with a column, or besides nominal ones, got {x.shape} of {x.dtype}"
        raise ValueError(msg)
    if x.shape[1]:
        check_records(np.where(np.isnan(x), 0.0, x) if request.patterns else x)


def _check_columns(x: FloatArray, request: BoxesRequest) -> None:
    for index, column in enumerate(request.columns):
        _check_steps(index, column, x[:, index], on_grid=request.bounds == "grid")
        if strays := column.strays(x[:, index]):
            values = "values of its order" if column.step is None else f"multiples of {column.step!r}"
            how = (
                ""
                if column.step is None
                else ": round the column to them, as they are written, or name no `value_step`"
            )
            raise InvalidColumnError(index, f"{strays} values are no {values}{how}")
        low, high = ends(x[:, index], request.k, request.demands.persons) if column.min_width > 0.0 else (0.0, 0.0)
        if high - low < column.min_width:  # of what the search sees: a refusal reveals nothing of one value
            raise InvalidColumnError(index, f"its values do not span the least width {column.min_width:g}")
    for index, nominal in enumerate(request.nominal):
        least = -1 if request.patterns else 0
        if len(nominal.codes) != len(x) or nominal.codes.min() < least or nominal.codes.max() >= nominal.values:
            raise InvalidColumnError(x.shape[1] + index, f"codes must be one a record, from 0 to {nominal.values - 1}")
    if request.survey is not None and not (np.isfinite(request.survey).all() and (request.survey > 0.0).all()):
        msg = "design weights must be finite and above 0"
        raise ValueError(msg)


def _check_steps(index: int, column: NumericColumn, values: FloatArray, *, on_grid: bool) -> None:
    """Refuse steps so small that doubles of the size of the values do not tell neighbouring ones apart."""
    steps = [step for step in (column.step, column.grid_step if on_grid else None) if step is not None]
    if steps and (np.abs(values) > _MOST_STEPS * min(steps)).any():
        detail = "its values are more than 2^53 steps away from 0: name a larger `value_step`, or a wider domain"
        raise InvalidColumnError(index, detail)


def _check_demands(demands: BoxConstraints, k: int) -> None:
    """What not even one box of all records meets; classes of kept columns too rare are left out later."""
    check_demands(replace(demands, kept=np.empty(0, dtype=np.int32)), k)
    persons = len(np.unique(demands.persons))
    if len(demands.persons) and persons < k:
        raise InfeasibleKError(k, persons)
    if demands.alpha is not None:
        for column, codes in enumerate(demands.codes.T):
            share = _largest_share(codes)
            if share > demands.alpha:
                raise InfeasibleAlphaError(column, demands.alpha, share)


def _largest_share(codes: IndexArray) -> float:
    known = codes[codes >= 0]
    return float(np.bincount(known).max() / len(known)) if len(known) else 0.0
