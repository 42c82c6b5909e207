"""What rules state about a microfile: who belongs to the group, the signals, and where they stand out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.contracts.columns import parsed
from app.contracts.datasets import ColumnType
from app.errors import FieldError, InfeasibleError, pointer
from app.methods.group.spec import SignalKind
from app.methods.microfile.spec import FuzzyVariable, OutlierOptions
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.rules.fits import Fits, fits
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.rules import Rules, memberships
from workers.algorithms.groups.signals.outliers import Outliers, thompson_tau
from workers.algorithms.groups.signals.signals import Signals, concentration, signals
from workers.methods.microfile.microfile import Microfile, Regions

#: Memberships times rules that are computed between two ticks.
_WORK = 50_000_000


@dataclass(frozen=True, slots=True)
class Attack:
    """A model's view of a microfile.

    Attributes
    ----------
    membership : (N,), 0 where no rule states it.
    signals : over the submicrofiles.
    """

    membership: FloatArray
    signals: Signals


def no_records(label: str, microfile: Microfile, where: str) -> InfeasibleError:
    """Nothing is left in range; states what left most records out."""
    reasons = [
        *((count, f"{name!r} is missing in {count}") for name, count in microfile.left_out.missing.items()),
        *((count, f"{name!r} is out of range in {count}") for name, count in microfile.left_out.out_of_range.items()),
    ]
    worst = "; ".join(text for _, text in sorted(reasons, reverse=True)[:3])
    detail = f"no record of {label} has every variable present and in its range" + (f": {worst}" if worst else "")
    return InfeasibleError.at(where, detail)


def check_auxiliary(auxiliary: Microfile, where: str = "/hidden_group") -> None:
    """Refuse a microfile that nothing can be learned from; `where` points to who the group is.

    Raises
    ------
    InfeasibleError
        No record is in range, or none or all of those in range are the group's.
    """
    label = "the auxiliary dataset"
    if not len(auxiliary.rows):
        raise no_records(label, auxiliary, "/variables" if where == "/hidden_group" else where)
    inside, records = int(vital_of(auxiliary).sum()), len(auxiliary.rows)
    if inside in {0, records}:
        share = "none" if inside == 0 else "all"
        detail = f"{share} of the {records} in-range records of {label} are the group's: nothing distinguishes them"
        raise InfeasibleError.at(where, detail)


def vital_of(microfile: Microfile) -> BoolArray:
    """Who is the group's; the microfile reveals.

    Raises
    ------
    ValueError
        It does not.
    """
    if microfile.vital is None:
        msg = "the microfile was read without the columns that name the group"
        raise ValueError(msg)
    return microfile.vital


def attack(
    microfile: Microfile, seen: Fuzzified, rules: Rules, alpha: float, *, tick: Callable[[float], None]
) -> Attack:
    """Apply rules to the records of a microfile.

    Parameters
    ----------
    microfile, seen
        The records, and as the rules see them.
    rules
        (R, V); none: no one belongs to the group.
    alpha
        Least membership.
    tick
        Receives the share that is done.
    """
    membership = np.zeros(len(microfile.rows))
    block = max(1_000, _WORK // max(1, len(rules)))
    for start in range(0, len(membership), block) if len(rules) else ():
        stop = min(start + block, len(membership))
        membership[start:stop] = memberships(seen, rules, alpha, start=start, stop=stop)
        tick(stop / len(membership))
    groups = len(microfile.regions)
    return Attack(membership, signals(microfile.region, groups, microfile.vital, membership, alpha))


def fitting(
    records: int, seen: Fuzzified, rules: Rules, alpha: float, lowest: float, *, tick: Callable[[float], None]
) -> Fits:
    """How records fit rules: the best one, how many, and the first of them.

    Parameters
    ----------
    records
        How many there are.
    seen
        As the rules see them.
    rules
        (R, V), the most confident first; none: no one fits.
    alpha, lowest
        From which grade on a rule counts, and from which on one is reported.
    tick
        Receives the share that is done.
    """
    block = max(1_000, _WORK // max(1, len(rules)))
    whole = Fits(np.zeros(records), np.zeros(records, np.int64), np.full(records, len(rules), np.int64), len(rules))
    for start in range(0, records, block) if len(rules) else ():
        stop = min(start + block, records)
        some = fits(seen, rules, alpha, lowest, start=start, stop=stop)
        for name in ("grade", "number", "first"):
            getattr(whole, name)[start:stop] = getattr(some, name)
        tick(stop / records)
    return whole


def stand_out(signal: FloatArray | IntArray, options: OutlierOptions, excluded: Sequence[int]) -> Outliers:
    """Outliers of a signal as the options state."""
    return thompson_tau(
        signal, alpha=options.significance_level, robust=options.robust, exclude=excluded, test=options.test
    )


def in_kind(signal: FloatArray | IntArray, sizes: IntArray, kind: SignalKind) -> FloatArray:
    """A signal as counted, or per record of its submicrofile."""
    if kind is SignalKind.CONCENTRATION:
        return concentration(signal, sizes)
    return np.asarray(signal, dtype=np.float64)


class Places:
    """Indexes of regions among those of the in-range records."""

    def __init__(self, values: Regions) -> None:
        self._kinds = tuple(_kind(part) for part in values[0]) if values else ()
        self._places = {value: place for place, value in enumerate(values)}

    def find(self, value: Sequence[object]) -> int | None:
        """The place of one value; None where no in-range record has it."""
        parts = tuple(parsed(part, kind) for part, kind in zip(value, self._kinds, strict=True))
        return self._places.get(parts)  # type: ignore[arg-type]

    def known(self, values: Sequence[Sequence[object]]) -> list[int]:
        """The places of those values that some record has."""
        return [place for value in values if (place := self.find(value)) is not None]

    def required(self, values: Sequence[Sequence[object]], where: str, inner: str = "") -> list[int]:
        """The places of values.

        Raises
        ------
        InfeasibleError
            No in-range record has one of them.
        """
        places, errors = [], []
        for index, value in enumerate(values):
            place = self.find(value)
            if place is None:
                errors.append(FieldError(where + pointer(index) + inner, "no in-range record has this region"))
            else:
                places.append(place)
        if errors:
            raise InfeasibleError("regions that no in-range record has; see `errors`", errors=errors)
        return places


def _kind(part: object) -> ColumnType:
    if isinstance(part, bool):
        return ColumnType.BOOLEAN
    if isinstance(part, int):
        return ColumnType.INTEGER
    return ColumnType.NUMBER if isinstance(part, float) else ColumnType.STRING


def with_terms(variables: Sequence[FuzzyVariable]) -> list[FuzzyVariable]:
    """The variables that rules can name, in the order of a rule's places."""
    return [variable for variable in variables if variable.terms]


def sentence(rule: Sequence[int], variables: Sequence[FuzzyVariable]) -> str:
    """A rule in the names of its columns and terms."""
    said = [
        f"{variable.column} is {variable.terms[term - 1].name}"
        for term, variable in zip(rule, with_terms(variables), strict=True)
        if term
    ]
    return " and ".join(said) or "anybody"
