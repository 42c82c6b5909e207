"""Finding out what separates the fields of a CSV file."""

from pathlib import Path
from typing import Final

import numpy as np

from app.contracts.datasets import ReadOptions
from workers.frames.upload import delimited_kernel as splitting
from workers.frames.upload.cells import Bytes

#: Tried in this order; a file that reads alike with several has the first: in files with `;` a comma is often a decimal
#: mark, and what is in a cell seldom stands the same number of times in each.
CANDIDATES: Final = ";\t,|"
DEFAULT: Final = ","
_SAMPLE_BYTES: Final = 1 << 18
_SAMPLE_RECORDS: Final = 1_000
_MAX_FIELD: Final = 1 << 26


def found_delimiter(path: Path, options: ReadOptions) -> tuple[str, int]:
    """The delimiter that gives the first records of a file one number of fields, more than one, and that number.

    Where none does, the default and 1.

    Parameters
    ----------
    path
        The file.
    options
        How to read it otherwise.
    """
    with path.open("rb") as file:
        sample = np.frombuffer(bytearray(file.read(_SAMPLE_BYTES)).removeprefix(b"\xef\xbb\xbf"), np.uint8)
        final = not file.read(1)
    taken, _ = splitting.skip_lines(sample, final, options.skip_rows)
    for candidate in CANDIDATES:
        if candidate != options.quote and (width := _width(sample[taken:], final, candidate, options)) > 1:
            return candidate, width
    return DEFAULT, 1


def _width(sample: Bytes, final: bool, delimiter: str, options: ReadOptions) -> int:
    """Fields of every record of the sample; 0 where they differ or cannot be told."""
    quote = '"' if options.quote is None else options.quote
    dialect = np.array([ord(delimiter), ord(quote) if quote.isascii() and quote else -1, options.trim], np.int64)
    comment = np.frombuffer((options.comment or "").encode(), np.uint8)
    width, begin, line = -1, 0, 1
    for records in (1, _SAMPLE_RECORDS):
        rest = sample[begin:]
        ends = int(np.count_nonzero(rest == 10) + np.count_nonzero(rest == 13)) + 1
        size = int(np.count_nonzero(rest == ord(delimiter))) + ends
        start, end, kind = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint8)
        report = splitting.split_records(
            rest, final, line, dialect, comment, width, np.array([records, _MAX_FIELD]), start, end, kind,
            np.empty(ends, np.int64), 0,
        )  # fmt: skip
        if report[splitting.CODE] != splitting.OK:
            return 0
        if width < 0:
            if not report[splitting.ROWS]:
                return 0
            width, begin, line = int(report[splitting.FOUND]), int(report[splitting.CONSUMED]), 1
    return width
