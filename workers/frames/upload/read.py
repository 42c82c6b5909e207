"""Reading an uploaded file into the typed copy that every runner works on."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from app.contracts.datasets import DELIMITED, DELIMITED_ONLY, FileFormat, Profile, ReadOptions
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import FieldError, InvalidError, StorageFullError, TooLargeError, UnreadableError
from workers.frames.upload import delimited_kernel as splitting
from workers.frames.upload.cells import Bytes
from workers.frames.upload.charsets import as_utf8, charset_of, check_is_text, separator_line
from workers.frames.upload.delimited import DELIMITERS, DelimitedReader
from workers.frames.upload.findings import charset_warning, header_warnings, width_warning
from workers.frames.upload.layouts import remedies, second_header
from workers.frames.upload.objects import ObjectReader
from workers.frames.upload.parquet import read_parquet
from workers.frames.upload.sink import Tick
from workers.frames.upload.text import read_text

DEFAULT_DELIMITER: Final = ","
_SAMPLE_BYTES: Final = 1 << 18
_SAMPLE_RECORDS: Final = 1_000
_MAX_FIELD: Final = 1 << 26


def read_upload(
    source: Path,
    options: ReadOptions,
    sink: Path,
    *,
    max_columns: int,
    max_field_bytes: int,
    max_bytes: int,
    tick: Tick,
) -> Profile:
    """Read an upload into a typed Parquet file.

    Missing are: the empty field (quoted or not, in every format), the tokens of `options.missing`, `null`, an absent
    key, and NaN. Types are found over the whole column as :mod:`~workers.frames.upload.inference` says; in Parquet they
    are the file's own (:mod:`~workers.frames.upload.parquet_types`). Memory is bounded by the sizes of blocks and row
    groups, whatever the size of the file.

    Parameters
    ----------
    source
        The decoded body, a local file.
    options
        How to read it.
    sink
        Where to write; removed again when anything fails.
    max_columns, max_field_bytes, max_bytes
        Limits on columns, on the bytes of one cell, on the bytes of the file (for Parquet also decoded).
    tick
        Called with the share done (0 to 1) several times a second; what it raises ends the reading.

    Returns
    -------
    Profile
        Rows; name, type, missing and distinct values of each column; summaries of numeric columns; how delimited text
        was read; warnings.

    Raises
    ------
    UnreadableError
        The file does not follow its format; says where, never what stood there.
    TooLargeError
        A limit is exceeded.
    InvalidError
        The options cannot be applied to this file.
    StorageFullError
        The disk of the sink is full.
    """
    try:
        _check_size(source, max_bytes)
        _check_applicable(options)
        if options.format is FileFormat.PARQUET:
            return read_parquet(
                source, options, sink, max_columns=max_columns, max_field_bytes=max_field_bytes, max_bytes=max_bytes,
                tick=tick,
            )  # fmt: skip
        check_is_text(source)
        charset = charset_of(source, options)
        if charset is None:
            return _read_text(source, options, sink, tick, max_columns, max_field_bytes)
        plain = sink.with_name(f"{sink.name}.utf8")
        try:
            as_utf8(source, plain, charset, max_bytes=max_bytes)
            known = options.model_copy(update={"charset": charset})
            profile = _read_text(plain, known, sink, tick, max_columns, max_field_bytes)
        finally:
            plain.unlink(missing_ok=True)
        noticed = [] if options.charset is not None else [charset_warning(charset)]
        return profile.model_copy(update={"warnings": (*noticed, *profile.warnings)})
    except OSError as error:
        sink.unlink(missing_ok=True)
        if error.errno == errno.ENOSPC:
            raise StorageFullError("There is no room for the typed copy of the file.") from None
        raise
    except BaseException:
        sink.unlink(missing_ok=True)
        raise


def _read_text(
    source: Path, options: ReadOptions, sink: Path, tick: Tick, max_columns: int, max_field_bytes: int
) -> Profile:
    """A file of text in UTF-8."""
    if options.format not in DELIMITED:
        objects = ObjectReader(source, max_columns=max_columns, max_field_bytes=max_field_bytes)
        return read_text(objects, options, sink, tick)
    options = _completed(source, options)
    reader = DelimitedReader(source, options, max_columns=max_columns, max_field_bytes=max_field_bytes)
    profile = read_text(reader, options, sink, tick)
    return profile.model_copy(
        update={"options": options, "warnings": (*_dialect_warnings(source, options, profile), *profile.warnings)}
    )


def _completed(source: Path, options: ReadOptions) -> ReadOptions:
    """The options with defaults filled in: how the file is read, and shown."""
    mark = separator_line(source) if options.format is FileFormat.CSV and not options.skip_rows else None
    if mark is not None:
        options = options.model_copy(update={"skip_rows": 1, "delimiter": options.delimiter or mark})
    delimiter = options.delimiter
    if delimiter is None:
        delimiter = "\t" if options.format is FileFormat.TSV else found_delimiter(source, options)[0]
    return options.model_copy(update={"delimiter": delimiter, "decimal": options.decimal or "."})


def _dialect_warnings(source: Path, options: ReadOptions, profile: Profile) -> Iterator[JobWarning]:
    """Warnings of a file that may have another delimiter, or no header."""
    names, types = [column.name for column in profile.columns], [column.type for column in profile.columns]
    if len(names) == 1:
        any_delimiter = options.model_copy(update={"delimiter": None})
        layout = str(remedies(source, any_delimiter, DELIMITERS)) if options.header else None
        yield width_warning(str(options.delimiter), found_delimiter(source, options), layout)
    if options.header:
        yield from header_warnings(names, types)
        if (question := second_header(source, options)) is not None:
            yield warning(WarningCode.TWO_READINGS, question, "/columns")


def _check_size(source: Path, max_bytes: int) -> None:
    size = source.stat().st_size
    if size > max_bytes:
        raise TooLargeError(f"The file has {size} bytes; at most {max_bytes} are accepted.")
    if not size:
        raise UnreadableError("The file is empty.")


def _check_applicable(options: ReadOptions) -> None:
    """Refuse options that mean nothing to the format: whoever gave them expects them to be heeded."""
    if options.format in DELIMITED:
        return
    given = [name for name in DELIMITED_ONLY if getattr(options, name) != ReadOptions.model_fields[name].default]
    if given:
        detail = f"applies to CSV and TSV only, not to {options.format}"
        raise InvalidError(f"`{given[0]}` {detail}.", errors=[FieldError(f"?{name}", detail) for name in given])


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
    for candidate in DELIMITERS:
        if candidate != options.quote and (width := _width(sample[taken:], final, candidate, options)) > 1:
            return candidate, width
    return DEFAULT_DELIMITER, 1


def _width(sample: Bytes, final: bool, delimiter: str, options: ReadOptions) -> int:
    """Fields of every record of the sample; 0 where they differ or cannot be determined."""
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
