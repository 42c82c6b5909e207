"""Points in time that a query names."""

import re
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import AwareDatetime, BeforeValidator

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _written_out(value: Any) -> Any:
    """Refuse what would pass for a time only because it is a number of seconds."""
    if isinstance(value, str) and not _RFC3339.fullmatch(value):
        msg = "must be a time of RFC 3339 with a time zone, such as 2026-11-21T09:30:00Z (a plus sign is %2B)"
        raise ValueError(msg)
    return value


CreatedAfter = Annotated[
    Annotated[AwareDatetime, BeforeValidator(_written_out)] | None,
    Query(description="RFC 3339, with a time zone: only what was made later."),
]
CreatedBefore = Annotated[
    Annotated[AwareDatetime, BeforeValidator(_written_out)] | None,
    Query(description="RFC 3339, with a time zone: only what was made earlier."),
]
