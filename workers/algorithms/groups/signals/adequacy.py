"""How well auxiliary outliers disclose the true ones.

Source: science.md section 2, "Adequacy", TC equations 18 to 22 and table 1.

Notation
--------
========  =========================================================================================================
symbol    meaning
========  =========================================================================================================
OUT_e(q)  outliers of the quantity signal, expert's exclusions taken off; OUT_e(q_aux) those of the auxiliary one
TP        in both
FP        in OUT_e(q) only: *undisclosed* (commonly called a false negative; the paper's names are exchanged)
FN        in OUT_e(q_aux) only: *false outlier* (commonly a false positive)
TN        in neither
m         parameter values
========  =========================================================================================================
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workers.algorithms.groups.signals.evidence import least_evidence

Interpretation: TypeAlias = Literal["negative", "bare mention", "positive", "strong", "decisive"]

#: TC table 1 (Kass, Raftery 1995): strength of the evidence for dependence, by the lower end of MB.
_STRENGTHS: tuple[tuple[float, Interpretation], ...] = (
    (5.0, "decisive"),
    (3.0, "strong"),
    (1.0, "positive"),
    (0.0, "bare mention"),
)


@dataclass(frozen=True)
class Adequacy:
    """Measures of one confusion matrix; None where a margin that a measure divides by is empty.

    Attributes
    ----------
    tp, fp, fn, tn : the matrix under the paper's names (fp: undisclosed, fn: false outliers).
    prediction_accuracy : PA (TC 19).
    log_bayes_factor : MB (TC 22), natural logarithm; None where a row of the matrix is empty.
    bayes_t1, bayes_t2 : the prior at which MB is reached.
    interpretation : of MB, after TC table 1.
    sensitivity : share of the true outliers that are disclosed.
    specificity : share of the others that are not taken for outliers.
    precision : share of the auxiliary outliers that are true.
    informedness : sensitivity + specificity - 1, Youden's J.
    markedness : precision + share of the auxiliary non-outliers that are none - 1: J as the paper writes it (TC 20).
    """

    tp: int
    fp: int
    fn: int
    tn: int
    prediction_accuracy: float | None
    log_bayes_factor: float | None
    bayes_t1: int | None
    bayes_t2: int | None
    interpretation: Interpretation | None
    sensitivity: float | None
    specificity: float | None
    precision: float | None
    informedness: float | None
    markedness: float | None


def adequacy(outliers: Iterable[int], auxiliary_outliers: Iterable[int], m: int) -> Adequacy:
    """Adequacy of a fuzzy model, from the outliers of both signals.

    Parameters
    ----------
    outliers : OUT_e(q), indexes in [0, m).
    auxiliary_outliers : OUT_e(q_aux), likewise.
    m : parameter values.

    Returns
    -------
    Adequacy

    Raises
    ------
    ValueError
        An index is out of range.
    """
    true, auxiliary = frozenset(outliers), frozenset(auxiliary_outliers)
    if any(not 0 <= index < m for index in true | auxiliary):
        raise ValueError(f"every outlier's index must be in [0, {m})")
    both = len(true & auxiliary)
    return from_counts(both, len(true) - both, len(auxiliary) - both, m - len(true | auxiliary))


def from_counts(tp: int, fp: int, fn: int, tn: int) -> Adequacy:
    """Adequacy from a confusion matrix, e.g. the sum over several states (TC tables 6 and 7).

    Parameters
    ----------
    tp, fp, fn, tn : counts under the paper's names.

    Returns
    -------
    Adequacy

    Raises
    ------
    ValueError
        A count is negative.
    """
    if min(tp, fp, fn, tn) < 0:
        raise ValueError("no count of a confusion matrix is negative")
    sensitivity, specificity = _share(tp, fp), _share(tn, fn)
    precision, negative = _share(tp, fn), _share(tn, fp)
    evidence = least_evidence(tp, fp, fn, tn) if tp + fp and fn + tn else None  # TC 22
    return Adequacy(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        prediction_accuracy=_share(tp + tn, fp + fn),  # TC 19
        log_bayes_factor=None if evidence is None else evidence.mb,
        bayes_t1=None if evidence is None else evidence.t1,
        bayes_t2=None if evidence is None else evidence.t2,
        interpretation=None if evidence is None else interpretation(evidence.mb),
        sensitivity=sensitivity,
        specificity=specificity,
        precision=precision,
        informedness=_sum_less_one(sensitivity, specificity),
        markedness=_sum_less_one(precision, negative),  # TC 20
    )


def interpretation(mb: float) -> Interpretation:
    """Strength of the evidence for dependence (TC table 1); a value on a border counts as the stronger one."""
    for least, strength in _STRENGTHS:
        if mb >= least:
            return strength
    return "negative"


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


def _sum_less_one(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other - 1.0
