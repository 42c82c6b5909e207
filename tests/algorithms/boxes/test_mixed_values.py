"""Values of mixed tables that need care: decimal steps, columns that nobody has, weights that go with values."""

from decimal import Decimal

import numpy as np
import pytest

from surebox_core.errors import InvalidColumnError
from surebox_core.statistics import Statistic
from tests.algorithms.boxes.mixed_tables import Case, anonymized
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NumericColumn
from workers.algorithms.core.errors import InfeasibleAlphaError, InfeasibleDiversityError


def test_a_column_that_nobody_has_left_is_no_error() -> None:
    x = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan], [4.0, 5.0]])
    statistics = (Statistic("mean", (0,)), Statistic("quantile", (1,), 1.0, p=0.5))
    request = BoxesRequest(2, statistics, columns=(NumericColumn(), NumericColumn()), patterns=True)
    outcome = anonymized(Case(x, request))
    assert outcome.certificates[1].published[0].guaranteed is None
    assert outcome.blanked == 1


@pytest.mark.parametrize("step", [0.1, 0.05, 0.3])
def test_multiples_of_a_decimal_step_lie_in_their_boxes(step: float) -> None:
    """3 times 0.1 is a float above 0.3, and outside of a box that ends there: such records are refused."""
    number = np.random.default_rng(3).integers(-60, 60, 300)
    read = np.array([float(Decimal(repr(step)) * int(each)) for each in number])
    request = BoxesRequest(
        3, (Statistic("mean", (0,)),), columns=(NumericColumn(step=step),), keys=np.zeros((1, 8), "u4")
    )
    boxes = anonymized(Case(read[:, None], request)).boxes
    assert (boxes.lower[boxes.box, 0] <= read).all()
    assert (read <= boxes.upper[boxes.box, 0]).all()
    assert set(boxes.lower[1:, 0].tolist()) <= {float(Decimal(repr(step)) * j) for j in range(-99, 99)}
    products = number * step
    beside = np.count_nonzero(products != read)
    with pytest.raises(InvalidColumnError, match=f"^column 0: {beside} values are no multiples of {step}: round"):
        anonymized(Case(products[:, None], request))
    with pytest.raises(InvalidColumnError):
        anonymization.init(read[:, None] + 1e-12, request)


def test_the_true_value_has_the_records_own_weights() -> None:
    """Where weights go with values it is no value of records of the mean weight; ranges hold it all the same."""
    x = (10.0 * np.arange(20)[:, None] + [0.0, 1.0]).reshape(-1, 1)
    weight = np.tile([1.0, 3.0], 20)
    request = BoxesRequest(2, (Statistic("mean", (0,), 1.0),), bounds="tight", survey=weight)
    (certificate,) = anonymized(Case(x, request)).certificates
    guaranteed = certificate.published[0].guaranteed
    assert guaranteed is not None
    assert guaranteed.lower <= 95.75 <= guaranteed.upper
    assert certificate.true_value == (pytest.approx(95.75),)


LEFT = np.array([0, 0, 0, 0, 1, 2, 3, 4, 5, 6], dtype=np.int32)  # all but four are in classes of their own


@pytest.mark.parametrize(
    ("demanded", "error"),
    [({"l": 2}, InfeasibleDiversityError), ({"alpha": 0.6}, InfeasibleAlphaError)],
)
def test_what_all_records_meet_is_demanded_of_those_that_are_left(
    demanded: dict[str, float], error: type[ValueError]
) -> None:
    """Rare classes of kept columns go first: the four that are left have one sensitive value."""
    codes = np.where(LEFT == 0, 0, 1).astype(np.int32)[:, None]
    demands = BoxConstraints(**demanded, codes=codes, ordered=(False,), kept=LEFT)
    request = BoxesRequest(3, (Statistic("mean", (0,), 1.0),), demands=demands, max_suppressed_classes=1.0)
    with pytest.raises(error):
        anonymized(Case(np.arange(10.0)[:, None], request))


def test_a_least_width_is_demanded_of_those_that_are_left() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0])[:, None]
    demands = BoxConstraints(kept=LEFT)
    columns = (NumericColumn(min_width=10.0),)
    request = BoxesRequest(
        3, (Statistic("mean", (0,), 1.0),), demands=demands, max_suppressed_classes=1.0, columns=columns
    )
    with pytest.raises(InvalidColumnError, match="left do not span"):
        anonymized(Case(x, request))
