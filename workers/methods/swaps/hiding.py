"""What masked places must not stand out of: one signal by the paper's letter, or the whole profile of the rules."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.contracts.swaps import SwapsSpec
from surebox_verify.core.types import FloatArray, IntArray
from workers.algorithms.groups.profile.ceilings import Asked
from workers.algorithms.groups.signals.profile import GRID, ProfileSignal, profile, standing_out
from workers.algorithms.groups.swaps.effect import after
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.problem import Problem, Swaps
from workers.methods.microfile.attack import stand_out
from workers.methods.swaps.mask import Masking


@dataclass(frozen=True, slots=True)
class Hiding:
    """What is looked at, and where.

    Attributes
    ----------
    alphas : of the nested sets, falling; the group's own among them. One alone is the paper's letter.
    alpha : the group's own.
    parameter, grades : (N,), submicrofile and grade of each in-range record.
    groups : submicrofiles.
    """

    spec: SwapsSpec
    asked: Masking
    alphas: tuple[float, ...]
    alpha: float
    parameter: IntArray
    grades: FloatArray
    groups: int

    @property
    def letter(self) -> bool:
        """Whether the members alone are masked."""
        return len(self.alphas) == 1

    @property
    def masked(self) -> tuple[int, ...]:
        """The places."""
        return tuple(one.element for one in self.asked.restrictions)

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
    def bounds(self) -> Asked:
        """What is to be bounded: the masked places in the sets of the profile."""
        wanted = {self.alpha, *self.spec.profile}
        asked = self.spec.outliers
        return Asked(
            self.alphas,
            np.array([alpha in wanted for alpha in self.alphas]),
            self.masked,
            {} if self.spec.mask == "outliers" else {one.element: one.bound for one in self.asked.restrictions},
            asked.alpha,
            asked.robust,
        )

    def signals(self, *swaps: Swaps) -> tuple[ProfileSignal, ...]:
        """The profile once swaps are made."""
        codes = exchanged_codes(self.parameter, *swaps)
        seen = self.grades > 0.0
        grid = GRID if self.letter else sorted(self.alphas)
        return profile(codes[seen], self.groups, self.grades[seen], self.alpha, grid)

    def found(self, signals: Sequence[ProfileSignal]) -> tuple[tuple[ProfileSignal, frozenset[int]], ...]:
        """Masked places among the outliers of each signal."""
        asked = self.spec.outliers
        return standing_out(signals, self.masked, alpha=asked.alpha, robust=asked.robust)

    def look(self, *swaps: Swaps) -> tuple[tuple[ProfileSignal, frozenset[int]], ...]:
        """Signals out of which masked places stand once swaps are made, and which do."""
        return tuple((signal, places) for signal, places in self.found(self.signals(*swaps)) if places)

    def is_valid(self, problem: Problem, *swaps: Swaps) -> bool:
        """Whether nothing that was to be hidden stands out: of the crisp signal, and of the profile if it is masked.

        New outliers elsewhere are accepted (TC: OUT_e and OUT(q*)). Which outliers matter in the crisp signal is the
        expert's choice: all that are not excluded, or those of the given list.
        """
        crisp = after(problem, swaps[0])
        for more in swaps[1:]:
            crisp = crisp + after(problem, more) - problem.crisp
        now = stand_out(crisp, self.spec.outliers, self.asked.excluded)
        return self.asked.hidden.isdisjoint(now.order) and (self.letter or not self.look(*swaps))


def alphas_of(spec: SwapsSpec, alpha: float, asked: Masking) -> tuple[float, ...]:
    """The alphas of the nested sets: those of the profile, and between them and above what the attack looks at.

    Places are raised by members only: where one is, the members alone are masked, and the profile is only looked at.
    """
    if set(spec.profile) == {alpha} or any(one.raises for one in asked.restrictions):
        return (alpha,)
    lowest = min(spec.profile)
    return tuple(sorted({alpha, *spec.profile, *(one for one in GRID if one >= lowest)}, reverse=True))


def exchanged_codes(parameter: IntArray, *swaps: Swaps) -> IntArray:
    """Submicrofile of each in-range record after swaps."""
    codes = parameter.copy()
    for some in swaps:
        codes[some.source_row], codes[some.partner_row] = parameter[some.partner_row], parameter[some.source_row]
    return codes
