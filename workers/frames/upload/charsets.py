"""Text in other encodings than UTF-8, rewritten before it is read; files of other formats, named for what they are."""

import codecs
import re
from pathlib import Path
from typing import Final

from app.contracts.datasets import FileFormat, ReadOptions
from app.errors import TooLargeError, UnreadableError

_PIECE_BYTES: Final = 1 << 20
_HEAD_BYTES: Final = 1 << 12
#: How files of other formats begin, and what to do with them.
_OTHERS: Final = (
    (b"PAR1", "a Parquet file: send it as application/vnd.apache.parquet"),
    (b"$FL2", "an SPSS file (.sav): save it as CSV or Parquet"),
    (b"$FL3", "an SPSS file (.zsav): save it as CSV or Parquet"),
    (b"<stata_dta>", "a Stata file (.dta): save it as CSV or Parquet"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (.xls): save the sheet as CSV"),
    (b"HEADER RECORD*******LIBRARY HEADER RECORD", "a SAS transport file (.xpt): save it as CSV or Parquet"),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", "a SAS file (.sas7bdat): save it as CSV or Parquet"),
    (b"BZh", "compressed with bzip2: send it uncompressed, or compressed with gzip"),
    (b"\xfd7zXZ\x00", "compressed with xz: send it uncompressed, or compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: send it uncompressed, or compressed with gzip"),
    (b"\x1f\x8b", "compressed with gzip twice: send it uncompressed, or compressed once"),
    (b"%PDF-", "a PDF document: save the table as CSV"),
)
_ZIP: Final = b"PK\x03\x04"
#: Names inside archives that are documents.
_DOCUMENTS: Final = (
    (b"xl/", "an Excel workbook (.xlsx): save the sheet as CSV"),
    (b"[Content_Types].xml", "an Excel workbook or another Office document: save the sheet as CSV"),
    (b"opendocument.spreadsheet", "an OpenDocument sheet (.ods): save it as CSV"),
)
_STATA: Final = frozenset({113, 114, 115})
_SEPARATOR: Final = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(?P<mark>[^\x00-\x08\x0a-\x1f"])"?(?:\r\n|\n|\r)')
#: A share of zero bytes at every other place by which UTF-16 without a mark is recognized.
_WIDE: Final = 0.3


def check_is_text(source: Path) -> None:
    """Refuse a file of another format, saying what it is.

    Raises
    ------
    UnreadableError
        It is no text.
    """
    with source.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    named = next((advice for mark, advice in _OTHERS if head.startswith(mark)), None)
    if head.startswith(_ZIP):
        documents = (advice for mark, advice in _DOCUMENTS if mark in head)
        named = next(documents, "a ZIP archive: unpack it, and send one table")
    if len(head) > _HEAD_BYTES // 32 and head[0] in _STATA and head[1] in {1, 2} and head[2] == 1:
        named = "a Stata file (.dta): save it as CSV or Parquet"
    if named is not None:
        raise UnreadableError(f"The file is {named}.")


def charset_of(source: Path, options: ReadOptions) -> str | None:
    """The encoding of a file of text, as the options state, or as its bytes do; None for UTF-8.

    A file that begins with a mark of UTF-16, or has zero bytes at every other place, is UTF-16. One that is no UTF-8 is
    Windows-1252, unless some of it can only be UTF-8: then single bytes are damaged, and reading states where.
    """
    if options.charset is not None:
        return options.charset
    with source.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for place, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if head[place::2].count(0) > _WIDE * len(head) / 2 and not head[1 - place :: 2].count(0):
            return name
    return "windows-1252" if options.format is not FileFormat.NDJSON and _is_western(source) else None


def _is_western(source: Path) -> bool:
    """Whether a file has bytes that are no UTF-8, none that are it and not ASCII, and none that Windows-1252 lacks."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    foreign = False
    with source.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            if piece.isascii() and not decoder.getstate()[0]:
                continue
            text = decoder.decode(piece)
            if any(ord(c) > 127 and c != "\ufffd" for c in set(text)):
                return False
            foreign = foreign or "\ufffd" in text
            if any(byte in piece for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D, 0x00)):
                return False
    return foreign or "\ufffd" in decoder.decode(b"", final=True)


def as_utf8(source: Path, sink: Path, charset: str, *, max_bytes: int) -> None:
    """Rewrite a file of text.

    Parameters
    ----------
    source, sink
        The file, and where it goes.
    charset
        Of the file.
    max_bytes
        Limit on the written data.

    Raises
    ------
    UnreadableError
        It is not in this encoding; states on which line.
    TooLargeError
        It takes more bytes in UTF-8 than are accepted.
    """
    decoder = codecs.getincrementaldecoder(charset)()
    line, size = 1, 0
    with source.open("rb") as file, sink.open("wb") as out:
        while True:
            piece = file.read(_PIECE_BYTES)
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                detail = f"Line {line}: a byte that is not {charset}; state what the file is by `charset`."
                raise UnreadableError(detail) from None
            except UnicodeError:  # of a file that does not begin as this encoding does
                raise UnreadableError(
                    f"The file has no byte order mark, which {charset} begins with; state `charset=utf-16le` or "
                    "`charset=utf-16be`, or what else it is."
                ) from None
            encoded = text.encode("utf-8", "surrogatepass")
            size += out.write(encoded)
            line += encoded.count(b"\n")
            if size > max_bytes:
                raise TooLargeError(f"The file takes more than {max_bytes} bytes in UTF-8; that many are accepted.")
            if not piece:
                return


def separator_line(source: Path) -> str | None:
    """What a first line such as ``sep=;``, which spreadsheets write, states; None where there is no such line."""
    with source.open("rb") as file:
        match = _SEPARATOR.match(file.read(16))
    return None if match is None else match["mark"].decode("latin-1")
