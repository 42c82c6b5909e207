"""What masked places must not stand out of: one signal by the paper's letter, or the whole profile of the rules."""

from dataclasses import dataclass

import numpy as np

from app.methods.group.spec import SignalKind
from app.methods.swaps.spec import SwapsSpec
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.rules.fits import Fits
from workers.algorithms.groups.signals.criteria import Judge, Standing, failing
from workers.algorithms.groups.signals.families import Families, families
from workers.algorithms.groups.signals.profile import GRID
from workers.algorithms.groups.swaps.effect import after
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.problem import Problem, Swaps
from workers.methods.microfile.attack import in_kind, stand_out
from workers.methods.swaps.mask import Masking


@dataclass(frozen=True, slots=True)
class Hiding:
    """The data that are examined, and where.

    Attributes
    ----------
    alphas : of the nested sets, falling; the group's own among them. One alone is the paper's letter.
    alpha : the group's own.
    region : (N,), submicrofile of each in-range record.
    fits : how each fits the rules.
    families : their counts.
    judge : who must not stand out.
    groups : submicrofiles.
    """

    spec: SwapsSpec
    masking: Masking
    alphas: tuple[float, ...]
    alpha: float
    region: IntArray
    fits: Fits
    families: Families
    judge: Judge
    groups: int

    @property
    def letter(self) -> bool:
        """Whether the members alone are masked."""
        return len(self.alphas) == 1

    @property
    def masked(self) -> tuple[int, ...]:
        """The places."""
        return tuple(one.element for one in self.masking.restrictions)

    @property
    def grades(self) -> FloatArray:
        """(N,), by the best rule."""
        return self.fits.grade

    @property
    def band(self) -> IntArray:
        """(N,), the smallest nested set of each record."""
        return bands(self.grades, np.array(self.alphas))

    @property
    def levels(self) -> Levels:
        """The nested sets, without bounds."""
        nothing = np.zeros((len(self.alphas), self.groups), dtype=np.int64)
        return Levels(self.band, nothing - 1, nothing, self.alphas.index(self.alpha))

    @property
    def given(self) -> dict[int, int]:
        """The most members of places that were listed."""
        if self.spec.mask == "outliers":
            return {}
        return {one.element: one.bound for one in self.masking.restrictions}

    def standings(self, *swaps: Swaps, by: Families | None = None) -> tuple[Standing, ...]:
        """The profile once swaps are made, by the model's rules or by others, judged."""
        codes = exchanged_codes(self.region, *swaps)
        return self.judge.standings((by or self.families).profile(codes, self.groups))

    def look(self, *swaps: Swaps) -> tuple[Standing, ...]:
        """Signals of the profile that reveal once swaps are made."""
        return failing(self.standings(*swaps))

    def is_valid(self, problem: Problem, *swaps: Swaps) -> bool:
        """Whether nothing that was to be hidden reveals: no signal of the profile, or by the letter the crisp one.

        New outliers elsewhere are accepted (TC: OUT_e and OUT(q*)). Which outliers matter in the crisp signal is the
        expert's choice: all that are not excluded, or those of the given list.
        """
        if not self.letter:
            return not self.look(*swaps)
        crisp = after(problem, swaps[0])
        for more in swaps[1:]:
            crisp = crisp + after(problem, more) - problem.crisp
        sizes = np.bincount(self.region, minlength=self.groups)
        signal = in_kind(crisp, sizes, self.spec.signal or SignalKind.QUANTITY)
        now = stand_out(signal, self.spec.outliers, self.masking.excluded)
        return self.masking.hidden.isdisjoint(now.order)


def families_of(fits: Fits, alpha: float, alphas: tuple[float, ...]) -> Families:
    """The counts: at every alpha of the nested sets, by the letter at those that someone would look at."""
    grid = GRID if len(alphas) == 1 else alphas
    return families(fits.grade, fits.number, fits.first, fits.rules, alpha, grid)


def alphas_of(spec: SwapsSpec, alpha: float, masking: Masking) -> tuple[float, ...]:
    """The alphas of the nested sets: those of the profile, and between them and above what the attack looks at.

    Places are raised by members only: where one is, the members alone are masked, and the profile is only looked at.
    """
    if set(spec.protected_alphas) == {alpha} or any(one.raises for one in masking.restrictions):
        return (alpha,)
    lowest = min(spec.protected_alphas)
    return tuple(sorted({alpha, *spec.protected_alphas, *(one for one in GRID if one >= lowest)}, reverse=True))


def exchanged_codes(region: IntArray, *swaps: Swaps) -> IntArray:
    """Submicrofile of each in-range record after swaps."""
    codes = region.copy()
    for some in swaps:
        codes[some.source_row], codes[some.partner_row] = region[some.partner_row], region[some.source_row]
    return codes
