"""Quantity and concentration signals of a group, its own and those that a fuzzy model gives.

Source: science.md section 2, "Signals".

Notation
--------
==========  ======  ===============================================================================
symbol      shape   meaning
==========  ======  ===============================================================================
P           scalar  parameter values (submicrofiles), counted over in-range records only
q_k         (P,)    quantity signal: records of the group in submicrofile k
q_aux,k     (P,)    auxiliary signal: sum of the memberships that are at least alpha (TC 9)
q_crisp,k   (P,)    crisp auxiliary signal: how many such records there are (TC 17)
c_k         (P,)    concentration: a signal divided by the submicrofile's size
==========  ======  ===============================================================================
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Signals:
    """Signals over the same submicrofiles.

    Attributes
    ----------
    sizes : (P,) int64, records per submicrofile.
    quantity : (P,) int64, q; None where it is not known who belongs to the group.
    auxiliary : (P,) float64, q_aux.
    crisp : (P,) int64, q_crisp.
    """

    sizes: IntArray
    quantity: IntArray | None
    auxiliary: FloatArray
    crisp: IntArray


def members(membership: FloatArray, alpha: float) -> BoolArray:
    """Which records belong to the fuzzy group.

    Parameters
    ----------
    membership : (N,), in [0, 1].
    alpha : threshold in [0, 1]; a grade of 0 is never a member, also where the threshold is 0.

    Returns
    -------
    (N,) bool

    Notes
    -----
    TC equation 17: ``mu_G >= alpha``.
    """
    return np.asarray((membership >= alpha) & (membership > 0.0))


def signals(parameter: IntArray, groups: int, vital: BoolArray | None, membership: FloatArray, alpha: float) -> Signals:
    """All signals of one group in one microfile.

    Parameters
    ----------
    parameter : (N,) int64, submicrofile of each in-range record, in [0, groups).
    groups : P, submicrofiles.
    vital : (N,) bool, who belongs to the group; None where the file does not show.
    membership : (N,) float64 in [0, 1], the grade that the fuzzy model assigns to each record.
    alpha : threshold of memberships, in [0, 1].

    Returns
    -------
    Signals

    Raises
    ------
    ValueError
        Shapes differ, codes or grades are out of range.

    Notes
    -----
    TC equations 9 and 17; O(N + P).
    """
    _check(parameter, groups, vital, membership, alpha)
    inside = members(membership, alpha)
    quantity = None if vital is None else np.bincount(parameter[vital], minlength=groups)
    auxiliary = np.bincount(parameter[inside], weights=membership[inside], minlength=groups)  # TC 9
    return Signals(
        sizes=np.bincount(parameter, minlength=groups),
        quantity=quantity,
        auxiliary=auxiliary.astype(np.float64, copy=False),
        crisp=np.bincount(parameter[inside], minlength=groups),  # TC 17
    )


def concentration(signal: IntArray | FloatArray, sizes: IntArray) -> FloatArray:
    """A signal per record of its submicrofile.

    Parameters
    ----------
    signal : (P,), any of the signals.
    sizes : (P,) int64, records per submicrofile.

    Returns
    -------
    (P,) float64

    Raises
    ------
    ValueError
        Shapes differ, or a submicrofile has no records (its concentration is undefined).
    """
    if signal.shape != sizes.shape or signal.ndim != 1:
        raise ValueError(f"signal and sizes must be two vectors of one length: shapes {signal.shape} and {sizes.shape}")
    empty = int(np.count_nonzero(sizes <= 0))
    if empty:
        raise ValueError(f"{empty} submicrofiles have no records: leave them out, a concentration is undefined there")
    return np.asarray(signal / sizes, dtype=np.float64)


def _check(parameter: IntArray, groups: int, vital: BoolArray | None, membership: FloatArray, alpha: float) -> None:
    if (
        parameter.ndim != 1
        or membership.shape != parameter.shape
        or (vital is not None and vital.shape != parameter.shape)
    ):
        raise ValueError("parameter, membership and vital must be vectors of one length")
    if groups < 1 or (len(parameter) and (parameter.min() < 0 or parameter.max() >= groups)):
        raise ValueError(f"every parameter code must be in [0, {groups})")
    if len(membership) and not (membership.min() >= 0.0 and membership.max() <= 1.0):
        raise ValueError("every membership must be in [0, 1]")
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must be in [0, 1], not {alpha}")
