"""(alpha, k)-anonymity of boxes: no value of a sensitive column has more than a share alpha of a box (kernel).

Definition. A class is alpha-deassociated if the relative frequency of every sensitive value in it is at most alpha; a
release is (alpha, k)-anonymous if it is k-anonymous and that holds in all classes (Wong, Li, Fu, Wang 2006). Here every
value of the column counts as sensitive (their general model), and the share is of the records that have a value: one
where it is missing hides nobody.

Derivation. If the largest count in each of two boxes is at most alpha times their known values, so it is in their
union: closed under unions, but not monotone along a line. Candidates are counted one by one.

science.md section 5, "Cuts". R. Wong, J. Li, A. Fu, K. Wang, (alpha, k)-anonymity: an enhanced k-anonymity model for
privacy preserving data publishing, KDD 2006.
"""

from surebox_core.compiling.kernels import inner_kernel

_ROUNDING = 1e-12


@inner_kernel
def is_deassociated(largest: int, known: int, alpha: float) -> bool:
    """Return whether the most frequent value of a set of records has at most its share of those that have one."""
    return bool(largest <= alpha * known * (1.0 + _ROUNDING))
