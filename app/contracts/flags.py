"""Flags: what a reader of a release must know of how it was made, in fixed words."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self


class Flag(StrEnum):
    """Flags of releases, each with what it says. None is renamed or given another meaning.

    `docs/flags.md` is written from here by `make flags`; which method raises which stands in `contracts/methods.py`.
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
        "A seed was given, for tests: whoever knows it can draw again what was drawn. Such a release protects nobody.",
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
            "The specification leaves out rare records, or a share of the records. The flag is raised whether or not "
            "any was; neither their number nor the original's is in the release."
        ),
    )
    TIGHT_BOUNDS = (
        "tight-bounds",
        "The bounds of a box are its records' least and greatest values: every bound is a record's value.",
    )
    GRID_BOUNDS = (
        "grid-bounds",
        (
            "The bounds of a box lie at most a step of a grid beyond its records: that near each bound is a "
            "record's value. Who knows the others has that value to a step."
        ),
    )
    CODEBOOK_FROM_DATA = (
        "codebook-from-data",
        (
            "Nobody declared which values a column without order may have: they are those of the data that `k` records "
            "have, the others together `other`."
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
            "Boxes have the means of their records, or intervals for them: who knows the others of a box knows more of "
            "the last one's values than its bounds say."
        ),
    )
    SURVEY_WEIGHTS = (
        "survey-weights",
        (
            "Rows carry design weights: an interval that holds the mean of their box or, as `released_weights` says, "
            "their own. Weights say how a person was sampled; who knows those of the others of a box knows the last "
            "one's within the interval."
        ),
    )
    WEIGHED = ("weighed", "Records of rare boxes count less, by the column `weight`.")
    SCALES_PER_RECORD = (
        "scales-per-record",
        "Every row has a scale of its own. Who knows the original computes the scales again and finds the row by it.",
    )
    ZERO_SCALE = (
        "zero-scale",
        "Some values are published as they are: of records that `k` others equal, or of columns with one value.",
    )
    REPEATED_RELEASE = (
        "repeated-release",
        (
            "Such a release of these data was published before, deleted ones counted: what was ever public may have "
            "been read. Fewer than `k` records fit both draws. Earlier releases cannot know it and are not flagged."
        ),
    )
    COMPOSITION_ACCEPTED = (
        "composition-accepted",
        "Releases of the same data were published before, and that they are fewer than `k` together was accepted.",
    )
    DECLARED_DATA = (
        "declared-data",
        (
            "Which other data of its owner are the same as these, or that none are, was said and not found out: what "
            "releases tell together was looked at by that word."
        ),
    )
    NEW_VERSION = (
        "new-version",
        (
            "New data in the boxes of an earlier release: a box of which fewer than `k` rows changed shows what it "
            "showed before. Ranges are about the rows as they are published."
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
        "Every other cell is the original's: whoever knows a person's values finds the row.",
    )


def raised(flags: Mapping[Flag, bool]) -> list[Flag]:
    """The flags that hold."""
    return [flag for flag, holds in flags.items() if holds]
