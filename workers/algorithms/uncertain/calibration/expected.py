"""Expected anonymity at given scales: of a calibration's records, and after a further draw.

Notation
--------
y : (M, n), records in scaled units.  s : (M, n), scales in scaled units, along columns or axes.
T : metric of a record, 1 / s along each: in it every density has the scale 1.
A : expected anonymity, AG eqs. 8 and 15.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.rare import asking, grown
from workers.algorithms.uncertain.calibration.schemes import Scheme
from workers.algorithms.uncertain.calibration.solver import Question, Solved, answered
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest, Expected
from workers.algorithms.uncertain.density.densities import Model
from workers.algorithms.uncertain.density.scaling import scaled
from workers.algorithms.uncertain.neighbours.tree import tree_of

_ALL = 10_000  # records up to which every anonymity is evaluated
_SAMPLE = 500
_POINT = 1e-150  # a scale of 0 is a density so narrow that only equal records fit


@dataclass(frozen=True)
class Anonymity:
    """Expected anonymity of records at given scales.

    Attributes
    ----------
    least : (m,), certain lower bounds.
    missing : (m,), bounds of what they lack.
    """

    least: FloatArray
    missing: FloatArray


def expectation(
    y: FloatArray, scheme: Scheme, request: CalibrationRequest
) -> Generator[float, None, tuple[Expected, float]]:
    """Least, mean and largest anonymity, and what it may lack of the true one.

    Of a scale that many share the calibration only learns that k is reached. By how much it is exceeded is evaluated
    here, of very many records for a sample of those who share one.
    """
    if scheme.group is None or request.scales == "shared" or not len(scheme.rows):
        values = scheme.anonymity
        expected = Expected(float(values.min()), float(values.mean()), float(values.max()), len(values))
        return expected, scheme.missing
    mean, largest, evaluated, missing = 0.0, 0.0, 0, 0.0
    order = np.argsort(scheme.group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(scheme.group[order])) + 1):
        tree = yield from grown(y[scheme.rows[members]])
        number = len(members) if len(order) <= _ALL else min(len(members), _SAMPLE)
        rows = np.unique(np.linspace(0, len(members) - 1, number).astype(np.int64))
        question = Question(rows, np.ones(len(rows)), np.full(len(rows), scheme.scale[members[0], 0]))
        solved = yield from asking(tree, question, request)
        places = members[tree.order[rows]]
        scheme.anonymity[places] = np.maximum(scheme.anonymity[places], solved.anonymity)
        mean += float(solved.anonymity.mean()) * len(members) / len(order)
        largest, evaluated = max(largest, float(solved.anonymity.max())), evaluated + len(rows)
        missing = max(missing, float(solved.missing.max()))
    expected = Expected(float(scheme.anonymity.min()), mean, largest, evaluated)
    return expected, missing if request.scales == "levels" else scheme.missing


def anonymity(
    x: FloatArray,
    calibrated: Calibrated,
    *,
    draws: int = 1,
    places: IntArray | None = None,
    tolerance: float = 1e-3,
    threads: int = 1,
) -> Anonymity:
    """Expected anonymity of kept records among all kept ones, when their values are drawn several times.

    Parameters
    ----------
    x : (N, n) the records that were calibrated.
    calibrated : their scales.
    draws : number m of independent draws with these scales that an adversary has. Gaussian: their mean is all that
        they need, and it is one draw with scale / sqrt(m), exactly. Uniform: not computed for more than one.
    places : places among the kept records; all of them by default.
    tolerance : what the lower bound may lack, relative.

    Returns
    -------
    Anonymity

    Notes
    -----
    Linking the draws of a record to one another is taken for granted: that is the adversary's best case.

    Raises
    ------
    ValueError
        Several draws of the uniform model.
    """
    kept = scaled(x[calibrated.rows], calibrated.unit)
    records, n = kept.shape
    model: Model = calibrated.model
    scale = calibrated.scale if calibrated.axes is not None else calibrated.scale / calibrated.unit
    if model == "gaussian":
        scale = scale / np.sqrt(draws)
    elif draws != 1:
        msg = "several draws are counted for the gaussian model"
        raise ValueError(msg)
    tree = tree_of(kept)
    weight = 1.0 / np.maximum(scale[tree.order], _POINT)
    shape = weight
    if calibrated.axes is not None:
        shape = (calibrated.axes[tree.order] * weight[:, :, None]).reshape(records, n * n)
    back = np.empty(records, dtype=np.int64)
    back[tree.order] = np.arange(records)
    rows = back if places is None else back[places]
    order = np.argsort(rows)
    question = Question(rows[order], np.ones(len(rows)), np.ones(len(rows)))
    solved: Solved = answered(tree, model, np.ascontiguousarray(shape), question, tolerance=tolerance, threads=threads)
    least, missing = np.empty(len(rows)), np.empty(len(rows))
    least[order], missing[order] = solved.anonymity, solved.missing
    return Anonymity(least=least, missing=missing)
