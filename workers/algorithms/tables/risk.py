"""Chances of naming the person behind a record, by what the adversary is after.

Notation
--------
f_g, F_g : records of class g in the table, persons of the same kind in the population; n = sum f_g.
prosecutor : they know that their person is in the table: a record's risk is 1 / f_g.
journalist : they do not, and look for anyone: 1 / F_g.
marketer : they match all records: the expected share that they get right is the average of what single ones risk.
highest, average, share above tau : of the records' risks; the journalist's average is the larger of
    G / sum F_g and 1/n sum f_g / F_g.

El Emam 2013, chapters 16 and 17.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IntArray


@dataclass(frozen=True)
class Risk:
    """One adversary's chances; each within [0, 1]."""

    highest: float
    average: float
    share_above: float


def prosecutor(size: IntArray, records: IntArray, threshold: float) -> Risk:
    """Risks of an adversary who knows that their person is in the table.

    Parameters
    ----------
    size : (G,) records that cannot be distinguished, f_g.
    records : (G,) how many records see that size; the same but where neighbourhoods overlap.
    threshold : tau.
    """
    return _of_records(1.0 / size, records, threshold)


def journalist(size: IntArray, records: IntArray, population: FloatArray, threshold: float) -> Risk:
    """Risks of an adversary who looks for anyone.

    Parameters
    ----------
    size, records, threshold : as for `prosecutor`.
    population : (G,) F_g, as it is known or estimated; at least f_g is taken.
    """
    people = np.maximum(population, size)
    risk = _of_records(1.0 / people, records, threshold)
    return Risk(risk.highest, max(risk.average, len(size) / float(people.sum())), risk.share_above)


def marketer(size: IntArray, records: IntArray, population: FloatArray, threshold: float) -> Risk:
    """Risks of an adversary who matches every record; parameters as for `journalist`."""
    return _of_records(1.0 / np.maximum(population, size), records, threshold)


def _of_records(risk: FloatArray, records: IntArray, threshold: float) -> Risk:
    total = float(records.sum())
    return Risk(
        float(risk.max()), float((risk * records).sum() / total), float(records[risk > threshold].sum() / total)
    )
