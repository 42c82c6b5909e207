"""Columns whose values can be persons, as far as names, types and counts say: what is known before rows are read."""

import re
from collections.abc import Sequence
from typing import Final

from app.contracts.datasets import ColumnType, DatasetColumn

#: Fewest different values of a column of persons; most rows a value, where nothing but measurements speaks for it too.
_FEWEST: Final = 8
_FEW_ROWS: Final = 30
_MANY_ROWS: Final = 200
_KINDS: Final = frozenset({ColumnType.STRING, ColumnType.INTEGER})
_PART: Final = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])")
#: Words of names, by how they begin.
_OF_PERSONS: Final = (
    "person", "patient", "subject", "participant", "respondent", "proband", "member", "customer", "client", "student",
    "pupil", "employee", "worker", "user", "insured", "applicant", "resident", "citizen", "taxpayer", "donor", "kund",
    "versichert", "mitglied", "personne", "pid", "nhs", "mrn", "ssn", "ahv", "avs", "nino",
)  # fmt: skip
_OF_OTHERS: Final = (
    "town", "city", "municipal", "county", "district", "region", "state", "countr", "province", "canton", "zip", "post",
    "plz", "tract", "block", "area", "site", "location", "place", "village", "parish", "puma", "school", "universit",
    "college", "class", "course", "hospital", "clinic", "ward", "doctor", "physician", "practi", "provider", "nurse",
    "teacher", "department", "company", "employer", "firm", "industr", "naics", "branch", "store", "shop", "product",
    "item", "drug", "diag", "icd", "disease", "occupation", "job", "type", "kind", "source", "specialty", "station",
)  # fmt: skip
_NUMBERED: Final = ("id", "ids", "nr", "no", "num", "number", "nbr", "key", "code", "index", "serial", "uuid", "uid")
_IDS: Final = frozenset({"id", "ids", "key", "uid", "uuid"})
#: Names without a boundary between words, by how their letters end: `HHID`, `PERSONID`, `USUBJID`, `caseid`.
_JOINED: Final = re.compile(
    r"(person|pers|patient|pat|subject|subj|participant|respondent|resp|proband|member|customer|cust|client|student|"
    r"pupil|employee|emp|worker|user|donor|individual|indiv|household|hh|family|fam|case)(id|ids|nr|no|num|number|nbr)$"
)


def is_called_person(name: str) -> bool:
    """Return whether a column is named as persons are, or as the households or cases that they are in."""
    return _says(name, _OF_PERSONS) or _JOINED.search("".join(_words(name))) is not None


def is_called_id(name: str) -> bool:
    """Return whether a column is named as ids of persons are, or as ids alone."""
    words = _words(name)
    return (is_called_person(name) and not _says(name, _OF_OTHERS)) or (bool(words) and set(words) <= _IDS)


def is_called_number(name: str) -> bool:
    """Return whether a column is named as numbers and keys are."""
    return any(word in _NUMBERED for word in _words(name))


def can_name_persons(name: str, kind: str) -> bool:
    """Return whether a column of this name and type can have persons as its values.

    Some are numbers with decimals, as of a household and its member (`1012.01`), but so are measurements: such a column
    can if it is called so.
    """
    called = is_called_person(name) or is_called_number(name)
    return (kind in _KINDS or (kind == ColumnType.NUMBER and called)) and not _says(name, _OF_OTHERS)


def are_as_many_as_persons(distinct: int, rows: int) -> bool:
    """Return whether so many values of so many rows can be persons, some of whom have several rows."""
    return _FEWEST <= distinct < rows <= _MANY_ROWS * distinct


def are_few_each(distinct: int, rows: int) -> bool:
    """Return whether values have so few rows each that measurements suffice, whatever the column is called."""
    return rows <= _FEW_ROWS * distinct


def may_say_whose_rows(columns: Sequence[DatasetColumn], rows: int) -> bool:
    """Return whether a dataset may have a column that says whose record each is, so that its records have to be read.

    Parameters
    ----------
    columns, rows
        As its profile states them.
    """
    return any(_may_say(one, rows - one.missing) for one in columns)


def _may_say(column: DatasetColumn, rows: int) -> bool:
    called = is_called_person(column.name) or is_called_number(column.name)
    return (
        can_name_persons(column.name, column.type)
        and are_as_many_as_persons(column.distinct, rows)
        and (called or are_few_each(column.distinct, rows))
    )


def _words(name: str) -> list[str]:
    return [part.lower() for part in _PART.findall(name)]


def _says(name: str, beginnings: Sequence[str]) -> bool:
    return any(word.startswith(tuple(beginnings)) for word in _words(name))
