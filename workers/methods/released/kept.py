"""Kept columns that would be published by accident: identifiers, incomes to the dollar, values that a box gives away.

Kept columns are published as they are. Of values which fewer than k rows of the *data* have, k of the boxes reveals
nothing: who knows one finds the row. Where few rows have such values that is a warning's matter; where many have, the
column was hardly meant to be published so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.findings import Finding, FindingSeverity
from app.contracts.stored import StoredSpec
from workers.frames.classes import shares_certain_in
from workers.frames.codes import coded_columns
from workers.frames.generalized import kept_together

#: The name by which these findings are accepted.
AUDIT: Final = "kept_columns"
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
    Sensitive columns of which boxes show variety (`l`, `t`, `alpha`) are what such a release is for, and are exempt.
    So are kept columns that k counts (`k_counts_kept`): they are quasi-identifiers. With `person_column` persons are
    counted. A value that k rows of the release have is not rare, whatever the data are by now.
    """
    made = StoredSpec.of(spec)
    declared = set(made.sensitive)
    exempt = declared if any(one is not None for one in (made.l, made.t, made.alpha)) else set()
    names = [name for name in made.keep if name not in exempt]
    if not names or made.k_counts_kept:
        return []
    k, person = ceil(made.least_k), made.person_column
    rare = [one for name in names if (one := _rare(release, dataset, person, [name], k, limits.rare)) is not None]
    if not rare and len(names) > 1 and (together := _rare(release, dataset, person, names, k, limits.rare)) is not None:
        rare = [together]
    return [*rare, *_determined(release, [name for name in names if name not in declared], limits.determined)]


def _rare(
    release: Path, dataset: Path, person: str | None, names: Sequence[str], k: int, limit: float
) -> Finding | None:
    own, rows = kept_together([dataset, release], names)
    number = int(max(own.max(initial=-1), rows.max(initial=-1))) + 1
    counts = np.maximum(_holders(dataset, person, own, number), np.bincount(rows, minlength=number))
    share = float((counts[rows] < k).mean()) if len(rows) else 0.0
    if share <= limit:
        return None
    named = ", ".join(map(repr, names))
    which = f"the kept column {named} has" if len(names) == 1 else f"the kept columns {named} together have"
    detail = (
        f"{which}, in {share:.1%} of the rows, values that fewer than {k} rows of the data share: anyone who knows "
        "such a value finds the row, whatever the box. Leave it out, coarsen it, name it in `quasi_identifiers` "
        "or in `sensitive` with `l`, `t` or `alpha`; `k_counts_kept` of `boxes` leaves rare values out"
    )
    return Finding(audit=AUDIT, severity=FindingSeverity.HIGH, detail=detail, measured=share, required=limit)


def _holders(dataset: Path, person: str | None, values: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """How many rows of the data, or persons, have each value."""
    if person is None:
        return np.bincount(values, minlength=number)
    who = coded_columns(dataset, [person])[0].codes.astype(np.int64) + 1  # 0 where it is missing
    span = int(who.max(initial=0)) + 1
    return np.bincount(np.unique(values * span + who) // span, minlength=number)


def _determined(release: Path, names: Sequence[str], limit: float) -> list[Finding]:
    """Kept columns that no one declared sensitive, and that boxes give away."""
    findings = []
    for name, share in shares_certain_in(release, _BOX, names).items():
        if share > limit:
            detail = (
                f"for {share:.1%} of the rows the box has one value of the kept column {name!r}: anyone who knows that "
                "a person is in the box learns it. Declare it `sensitive` with `l`, `t` or `alpha`, or leave it out"
            )
            findings.append(
                Finding(audit=AUDIT, severity=FindingSeverity.HIGH, detail=detail, measured=share, required=limit)
            )
    return findings
