"""Kept columns that would be published by accident: identifiers, incomes to the dollar, values that a box gives away.

Kept columns are published as they are. Of values which fewer than k rows of the *data* have, k of the boxes reveals
nothing: who knows one finds the row. Where few rows have such values that is a warning's matter; where many have, the
column was hardly meant to be published so.

A demand of variety protects what nobody is supposed to know of a person, such as a diagnosis, and that has rare values
too. It protects no one from whoever knows the value: a column that is nearly unique is an identifier, whatever is
demanded of it. A demand that every box meets, such as l = 1, protects nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.findings import KEPT_COLUMNS, Finding, FindingSeverity
from app.contracts.stored import StoredSpec, demands_variety
from workers.frames.classes import shares_certain_in
from workers.frames.codes import coded_columns
from workers.frames.generalized import kept_together

#: A protected column identifies above these: rows with rare values, and rare values, as shares of the rows.
_MOST_RARE, _MOST_VALUES = 0.5, 0.2
#: All kept columns together do, protected ones among them, above so many rare combinations, as a share of the rows.
_UNIQUE_TOGETHER: Final = 0.5
_BOX: Final = "box"


@dataclass(frozen=True, slots=True)
class Limits:
    """Shares of rows above which there is a finding.

    Attributes
    ----------
    rare : that have kept values which fewer than k rows of the data have.
    determined : whose box has one value of a kept column.
    """

    rare: float
    determined: float


def accidents(release: Path, dataset: Path, spec: Mapping[str, Any], limits: Limits) -> list[Finding]:
    """What stands against the kept columns of a release.

    Parameters
    ----------
    release, dataset
        Its Parquet file, and the typed copy of the data that it was made from.
    spec
        Of the job that made it.
    limits
        Figures left to a warning.

    Notes
    -----
    Sensitive columns of which boxes show variety (`l`, `t`, `alpha`) are what such a release is for: only those that
    are nearly unique, alone or with the other kept columns, are a finding. Kept columns that k counts
    (`k_counts_kept`) are quasi-identifiers. With `person_column` persons are counted. A value that k rows of the
    release have is not rare, whatever the data are by now. A k of 1 hides nobody: it counts as 2.
    """
    made = StoredSpec.of(spec)
    k = max(2, ceil(made.least_k))
    if not made.keep or (made.k_counts_kept and made.least_k > 1):
        return []
    protected = made.sensitive if demands_variety(made.l, made.t, made.alpha) else ()
    plain = [name for name in made.keep if name not in protected]
    hidden = [name for name in made.keep if name in protected]

    def rarity(names: Sequence[str]) -> _Rarity:
        return _rarity(release, dataset, made.person_column, names, k)

    stated = [_rare([name], one, k, limits.rare) for name in plain if (one := rarity([name])).share > limits.rare]
    if not stated and len(plain) > 1 and (one := rarity(plain)).share > limits.rare:
        stated = [_rare(plain, one, k, limits.rare)]
    stated += [_identifying([name], one, k) for name in hidden if (one := rarity([name])).identifies(limits.rare)]
    if not stated and hidden and len(made.keep) > 1 and (one := rarity(made.keep)).values > _UNIQUE_TOGETHER:
        stated = [_identifying(made.keep, one, k)]
    varied = made.sensitive if demands_variety(made.l, None, made.alpha) else ()
    return [*stated, *_determined(release, [name for name in made.keep if name not in varied], limits.determined)]


@dataclass(frozen=True, slots=True)
class _Rarity:
    """Rarity of kept values.

    Attributes
    ----------
    share : of the rows that have values which fewer than k rows of the data, or persons, have.
    values : how many such values there are, as a share of the rows.
    """

    share: float
    values: float

    def identifies(self, limit: float) -> bool:
        """Return whether a protected column is nearly unique, where more rows than a limit have rare values at all."""
        return self.share > limit and nearly_unique(self.share, self.values)


def nearly_unique(share: float, values: float) -> bool:
    """Return whether a column is an identifier, of which no demand of variety protects.

    Parameters
    ----------
    share : of the rows that have values which fewer than k rows have.
    values : how many such values there are, as a share of the rows.
    """
    return share > _MOST_RARE or values > _MOST_VALUES


def _rarity(release: Path, dataset: Path, person: str | None, names: Sequence[str], k: int) -> _Rarity:
    own, rows = kept_together([dataset, release], names)
    if not len(rows):
        return _Rarity(0.0, 0.0)
    number = int(max(own.max(initial=-1), rows.max(initial=-1))) + 1
    held = np.bincount(rows, minlength=number)
    rare = np.maximum(_holders(dataset, person, own, number), held) < k
    return _Rarity(float(rare[rows].mean()), float((rare & (held > 0)).sum() / len(rows)))


def _rare(names: Sequence[str], one: _Rarity, k: int, limit: float) -> Finding:
    detail = (
        f"{_which(names)}, in {one.share:.1%} of the rows, values that fewer than {k} rows of the data share: anyone "
        "who knows such a value finds the row, whatever the box. Leave it out, coarsen it, name it in "
        "`quasi_identifiers` or, if nobody knows it of a person, in `sensitive` with an `l` of 2 or more, or a `t` or "
        "`alpha` below 1; `k_counts_kept` of `boxes` leaves rare values out"
    )
    return Finding(audit=KEPT_COLUMNS, severity=FindingSeverity.HIGH, detail=detail, measured=one.share, required=limit)


def _identifying(names: Sequence[str], one: _Rarity, k: int) -> Finding:
    detail = (
        f"{_which(names)}, in {one.share:.1%} of the rows, values that fewer than {k} rows of the data share, almost "
        f"every row another one ({one.values:.1%} as many values as rows): that is an identifier, from which `l`, `t` "
        "and `alpha` protect no one. Leave it out, coarsen it, or, in `boxes`, name it in `sensitive` and `withheld`: "
        "then it is counted and not shown"
    )
    limit = _UNIQUE_TOGETHER if len(names) > 1 else _MOST_VALUES
    return Finding(
        audit=KEPT_COLUMNS, severity=FindingSeverity.HIGH, detail=detail, measured=one.values, required=limit
    )


def _which(names: Sequence[str]) -> str:
    named = ", ".join(map(repr, names))
    return f"the kept column {named} has" if len(names) == 1 else f"the kept columns {named} together have"


def _holders(dataset: Path, person: str | None, values: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """How many rows of the data, or persons, have each value."""
    if person is None:
        return np.bincount(values, minlength=number)
    who = coded_columns(dataset, [person])[0].codes.astype(np.int64) + 1  # 0 where it is missing
    span = int(who.max(initial=0)) + 1
    return np.bincount(np.unique(values * span + who) // span, minlength=number)


def _determined(release: Path, names: Sequence[str], limit: float) -> list[Finding]:
    """Kept columns of which no variety was demanded, and that boxes give away."""
    findings = []
    for name, share in shares_certain_in(release, _BOX, names).items():
        if share > limit:
            detail = (
                f"for {share:.1%} of the rows the box has one value of the kept column {name!r}: anyone who knows that "
                "a person is in the box learns it. Declare it `sensitive` with an `l` of 2 or more or an `alpha` below "
                "1, or leave it out"
            )
            findings.append(
                Finding(
                    audit=KEPT_COLUMNS, severity=FindingSeverity.HIGH, detail=detail, measured=share, required=limit
                )
            )
    return findings
