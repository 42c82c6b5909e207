"""Flags: what a reader of a release must know of how it was made, in fixed words."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self


class Flag(StrEnum):
    """Flags of releases, each with its meaning. None is renamed or given another meaning.

    `docs/reference/flags.md` is written from here by `make flags`; the methods name the flags that they raise.
    """

    meaning: str

    def __new__(cls, flag: str, meaning: str) -> Self:
        """A flag with its meaning."""
        made = str.__new__(cls, flag)
        made._value_ = flag
        made.meaning = meaning
        return made

    REPRODUCIBLE = (
        "reproducible",
        "A seed was given, for tests: anyone who knows it can repeat every draw. Such a release protects no one.",
    )
    KEPT_COLUMNS_NOT_COUNTED = (
        "kept-columns-not-counted",
        (
            "`k` counts records of a box or a group, or those that fit the noise, not those that also agree in the "
            "kept columns. The job's result has both."
        ),
    )
    RARE_RECORDS_SUPPRESSED = (
        "rare-records-suppressed",
        (
            "The specification suppresses rare records, or a share of the records. The flag is raised whether or not "
            "any was suppressed; neither their number nor the original's is in the release."
        ),
    )
    TIGHT_BOUNDS = (
        "tight-bounds",
        "The bounds of a box are its records' least and greatest values: every bound is a record's value.",
    )
    GRID_BOUNDS = (
        "grid-bounds",
        (
            "A bound of a box that was moved inward is at most a step of a grid beyond records of the box, by default "
            "two of them. An attacker who knows one of the two learns the value of the other to within a step."
        ),
    )
    CODEBOOK_FROM_DATA = (
        "codebook-from-data",
        (
            "The values of a column without order were not declared: the codebook lists those that at least `k` "
            "records have, and merges the others into one (`merged_as`)."
        ),
    )
    OUTER_BOUNDS_FROM_DATA = (
        "outer-bounds-from-data",
        (
            "A column has no declared domain: its outer bounds are the data's extremes, rounded outward to two "
            "digits of the column's range."
        ),
    )
    TYPES_FROM_DATA = (
        "types-from-data",
        (
            "Types of columns were inferred from the data: one record can make whole numbers numbers, or days text, "
            "and the release shows which. The warning `types_inferred` lists the columns; declared types (`type` at "
            "upload) show nothing."
        ),
    )
    MEANS = (
        "means-inside-boxes",
        (
            "Boxes have the means of their records, or intervals for them: an attacker who knows all other records of "
            "a box learns more about the last record's values than its bounds show."
        ),
    )
    SURVEY_WEIGHTS = (
        "survey-weights",
        (
            "Rows carry design weights: an interval that contains the mean of their box or, depending on "
            "`released_weights`, their own. Weights reveal how a person was sampled; an attacker who knows all other "
            "weights of a box learns the last one to within the interval."
        ),
    )
    WEIGHED = ("weighed", "Records of rare boxes count less, by the column `weight`.")
    SCALES_PER_RECORD = (
        "scales-per-record",
        "Every row has its own scale. An attacker with the original can recompute the scales and find each row by it.",
    )
    ZERO_SCALE = (
        "zero-scale",
        "Some values are published as they are: of records that `k` others equal, or of columns with one value.",
    )
    REPEATED_RELEASE = (
        "repeated-release",
        (
            "Such a release of these data was published before. Deleted ones count, since readers may have copies. "
            "Fewer than `k` records may fit both draws. Earlier releases are not flagged afterwards."
        ),
    )
    COMPOSITION_ACCEPTED = (
        "composition-accepted",
        "Releases of the same data were published before; the owner accepted that fewer than `k` remain together.",
    )
    PROTECTION_FAILED = (
        "protection-failed",
        (
            "The job itself found that the release lacks what was demanded of it, such as `k` or that no masked place "
            "stands out; the owner accepted that."
        ),
    )
    DECLARED_DATA = (
        "declared-data",
        (
            "The owner declared which other datasets are of the same people, or that none are: at the upload, or as an "
            "answer where the evidence did not decide. The composition check relied on that declaration."
        ),
    )
    NEW_VERSION = (
        "new-version",
        (
            "New data in the boxes of an earlier release: a box of which fewer than `k` rows changed is shown as "
            "before. Ranges are about the rows as they are published."
        ),
    )
    GROUPS_OF_ONE = ("groups-of-one", "`k` was 1: the rows are the records.")
    REGIONS_SWAPPED = (
        "regions-swapped",
        (
            "The regions of some records are not their own. Neither how many nor which is published, nor which "
            "regions were masked, by which rules, or which columns were dropped."
        ),
    )
    RECORDS_NOT_ANONYMOUS = (
        "records-not-anonymous",
        "Every other cell is the original's: an attacker who knows a person's values finds the row.",
    )


def raised(flags: Mapping[Flag, bool]) -> list[Flag]:
    """The flags that apply."""
    return [flag for flag, holds in flags.items() if holds]
