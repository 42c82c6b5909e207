"""All warnings of an upload, in one order for every format."""

from collections.abc import Mapping, Sequence

from app.contracts.datasets import Profile
from workers.frames.upload.advice import Sent, advice
from workers.frames.upload.findings import (
    Counts,
    empty_warnings,
    formula_warnings,
    limited,
    name_warnings,
    whole_warnings,
)
from workers.frames.upload.orders import ordered_words
from workers.frames.upload.questions import nobodys, questions


def noticed(
    profile: Profile, sent: Sent, odd: Mapping[str, frozenset[str]],
    *, whole: Sequence[bool], empties: Counts, formulas: Counts, grouped: Sequence[bool],
) -> Profile:  # fmt: skip
    """Return the profile of a file with its warnings.

    Parameters
    ----------
    profile, sent
        The file, as it was read.
    odd
        By column of text, values of it that may mean something else.
    whole
        Columns that are integers although their numbers are not written so, shape (columns,).
    empties, formulas
        Empty texts, and cells that a spreadsheet would run, shape (columns,).
    grouped
        Columns whose points could stand between thousands, shape (columns,).
    """
    advised = list(advice(sent))
    warnings = (
        *name_warnings(sent.names),
        *whole_warnings(sent.names, whole),
        *empty_warnings(empties),
        *limited(advised),
        *limited(ordered_words(sent, advised)),
        *limited(questions(sent, profile.numeric, grouped, odd, advised)),
        *limited(nobodys(sent, odd)),
        *formula_warnings(formulas, sent.types),
        *profile.warnings,
    )
    return profile.model_copy(update={"warnings": warnings})
