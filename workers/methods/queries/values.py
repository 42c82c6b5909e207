"""Values that questions name, read by the codebooks of a release: what a declared one does not have is refused."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from app.errors import FieldError, InvalidError
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.codebooks import Codebook

#: Errors that one answer lists.
_MOST: Final = 20


def check_values(books: Mapping[str, Codebook], named: Iterable[tuple[str, str, Any]]) -> None:
    """Refuse values that no record can have because the codebook of their column was declared without them.

    Parameters
    ----------
    books
        Of the release's columns.
    named
        Pointer, column and value of each that a question names.

    Raises
    ------
    InvalidError
        With an error for each of the first few.
    """
    errors = list(islice(_wrong(books, named), _MOST))
    if errors:
        raise InvalidError(errors[0].detail, errors=errors)


def _wrong(books: Mapping[str, Codebook], named: Iterable[tuple[str, str, Any]]) -> Iterator[FieldError]:
    for where, column, value in named:
        if column not in books:
            continue
        try:
            books[column].meant(value)
        except UnreadableError as error:
            yield FieldError(where, str(error))
