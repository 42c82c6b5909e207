"""Warnings: what succeeded but will disappoint or expose, on datasets, jobs and releases."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field

from app.contracts.base import Contract, Sentence, one_of


class WarningCode(StrEnum):
    """Codes of warnings, each with its meaning. Codes are stable: none is renamed or given another meaning.

    `docs/reference/warnings.md` is written from here by `make warnings`.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Self:
        """A code with its meaning."""
        made = str.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    ONE_COLUMN = (
        "one_column",
        "Dataset: the file has one column only. Fields may be separated by another character than `delimiter`.",
    )
    CHARSET_DETECTED = (
        "charset_detected",
        "Dataset: the text is not UTF-8; it was read in the encoding that `detail` names.",
    )
    HEADER_LIKE_DATA = (
        "header_like_data",
        "Dataset: the names of the columns look like a record. If they are one, upload with `header=false`.",
    )
    NEARLY_NUMERIC = (
        "nearly_numeric",
        (
            "Dataset: a column of strings most of whose cells are numbers. `detail` has the option that reads them, "
            "both where two fit, or what to do where none does."
        ),
    )
    NEARLY_DATE = (
        "nearly_date",
        "Dataset: a column of strings most of whose cells are days. `detail` has the same as of numbers.",
    )
    NEARLY_BOOLEAN = (
        "nearly_boolean",
        "Dataset: a column of strings most of whose cells are `true` or `false`. `detail` has the option.",
    )
    TWO_READINGS = (
        "two_readings",
        (
            "Dataset: a column was read, and could mean something else: days written as whole numbers, points between "
            "thousands, a value that stands for a missing one. `detail` has the option for that."
        ),
    )
    ORDERED_WORDS = (
        "ordered_words",
        (
            "Dataset: a column of strings most of whose cells are words with an order: months, days of the week, "
            "quarters, grades, classes of numbers. `detail` has the field of a job that keeps the order."
        ),
    )
    SUSPECT_ROWS = (
        "suspect_rows",
        (
            "Dataset: rows that may be no records: without a value, sums of others, or the names of the columns once "
            "more. They count as records."
        ),
    )
    WHOLE_NUMBERS = (
        "whole_numbers",
        "Dataset: whole numbers that are written as 62.0 were taken as integers; their boxes have whole bounds.",
    )
    EMPTY_TEXTS = (
        "empty_texts",
        "Dataset: empty texts of a Parquet or NDJSON file are missing values, as they are in CSV.",
    )
    SPREADSHEET_CELLS = (
        "spreadsheet_cells",
        "Dataset: text that a spreadsheet would run as a formula. The format `csv.excel` of a release disarms it.",
    )
    OTHER_SPELLINGS = (
        "other_spellings",
        (
            "Dataset, and job where `person_column` is such a column: values of a column, or names of columns, differ "
            "in case, blanks or look-alike characters alone. `detail` counts them."
        ),
    )
    NORMAL_FORM = (
        "normal_form",
        "Dataset: texts of a column were not in Unicode's normal form C, in which they are kept and compared.",
    )
    COLUMN_NEVER_CUT = (
        "column_never_cut",
        "Boxes, job and release: every box spans the whole column, so the release has no information about it.",
    )
    LEAST_WIDTH_LOWERED = (
        "least_width_lowered",
        (
            "Boxes, job: the least width that `least_widths: auto` asks for in a column was halved or dropped, since "
            "no two boxes would have it. `value_disclosure` has the values given away."
        ),
    )
    ONE_BOX = ("one_box", "Boxes, job and release: all records are in one box.")
    RANGE_SAYS_NOTHING = (
        "range_says_nothing",
        (
            "Boxes, job and release: a guaranteed range contains every possible value, such as [-1, 1] for a "
            "correlation, or none could be proven."
        ),
    )
    RANGE_STAYS_WIDE = (
        "range_stays_wide",
        (
            "Boxes, job, from the moment it is accepted: statistics of kept columns cannot be narrow where weights are "
            "published by box, and those that join kept columns with others where no statistic of the others is "
            "listed. `detail` names them, and what makes them certain."
        ),
    )
    CLASSES_ESTIMATED = (
        "classes_estimated",
        (
            "Classify, job, from the moment it is accepted: classes and probabilities are estimates, of which nothing "
            "is certain. `detail` names the questions whose answers are."
        ),
    )
    STATISTICS_COMPETE = (
        "statistics_compete",
        (
            "Boxes, job: of the statistics that you listed, others make the range of one at least twice as wide as it "
            "would be alone. `detail` has how wide it is without each."
        ),
    )
    KEPT_BELOW_K = (
        "kept_below_k",
        (
            "Boxes, job and release: fewer than k rows agree in box and kept columns, apart from columns that `l`, `t` "
            "or `alpha` protects and that are no identifiers. `detail` names the columns."
        ),
    )
    COUNTS_AS_WITHHELD = (
        "counts_as_withheld",
        (
            "Boxes, job, from the moment it is accepted: a column of `sensitive` is not published, because nothing "
            "that was published of these data shows it. `l`, `t` and `alpha` count it."
        ),
    )
    VALUES_CERTAIN = (
        "values_certain",
        (
            "Boxes, job and release: for some rows the whole box has the same kept value. For a sensitive column that "
            "is not kept, only the job has this warning."
        ),
    )
    MOST_RECORDS_LEFT_OUT = ("most_records_left_out", "Boxes, job: more than half of the records are suppressed.")
    VALUES_MERGED = (
        "values_merged",
        "Boxes, job: undeclared rare values of a column are merged (`other`); `detail` counts values and records.",
    )
    RARE_VALUES_LEFT_OUT = (
        "rare_values_left_out",
        "Boxes, job: records with a value that fewer than k have are suppressed, to avoid merging a frequent value.",
    )
    MOST_CHANGES_WAIT = (
        "most_changes_wait",
        (
            "Boxes, job of a new version: more than half of the rows that came or left are not shown yet, because "
            "fewer than k of their box did, or would be left together in all versions."
        ),
    )
    TYPES_INFERRED = (
        "types_inferred",
        (
            "Job and release: types of columns were inferred from the data, and one record can change them. Declare "
            "them at upload by `type`."
        ),
    )
    K_OF_ONE = ("k_of_one", "Boxes, job and release: k is 1, so a box may be one record's.")
    LINKAGE = (
        "linkage",
        "Job: how often an attacker with the original finds a row's record at rank 1. On every `uncertain` job.",
    )
    ZERO_SCALE = (
        "zero_scale",
        "Job and release: rows of an `uncertain` release that are published as they are, without noise.",
    )
    SCALE_OF_FEW = (
        "scale_of_few",
        "Job: fewer than k records decide the scale of an `uncertain` release, which shows how far out they are.",
    )
    WIDE_NOISE = (
        "wide_noise",
        "Job and release: columns of an `uncertain` release whose noise is wider than their own spread.",
    )
    CLASSIFIERS_NOT_TRAINED = (
        "classifiers_not_trained",
        (
            "Swaps, job: the auxiliary dataset has too few members or others, or no column in common with the file, so "
            "no classifier attacked it and `attack_again.classifiers` is empty."
        ),
    )
    MUCH_ANONYMITY = (
        "much_anonymity",
        "Job: many times k records fit a row of an `uncertain` release on average: more noise than requested.",
    )


class JobWarning(Contract):
    """Warnings: successes that will disappoint or expose."""

    code: Annotated[str, one_of(WarningCode)] = Field(description="Stable code, listed in docs/reference/warnings.md.")
    pointer: str | None = Field(description="JSON pointer to what it is about, in the object that carries it.")
    detail: Sentence = Field(description="The problem, and how to solve it.")


def warning(code: WarningCode, detail: str, pointer: str | None = None) -> JobWarning:
    """A warning. The code is kept as text: older processes read those that newer ones wrote.

    Parameters
    ----------
    code
        What kind it is.
    detail
        The finding and what to do about it, never with a cell.
    pointer
        Where, in the dataset, job or release that carries it; for a job, `/spec/…`.
    """
    return JobWarning(code=code.value, pointer=pointer, detail=detail)
