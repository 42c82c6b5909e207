"""Tags in the query of a list: `tag=name:value`, as often as there are."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import Query

_TAG = r"^[^\x00:]{1,200}:[^\x00]{0,200}$"

TagPairs = Annotated[list[Annotated[str, Query(pattern=_TAG)]] | None, Query(description="`name:value`; all of them.")]


def tags_of(pairs: Iterable[str] | None) -> dict[str, str]:
    """The tags that the pairs of a query name."""
    return {name: value for name, _, value in (text.partition(":") for text in pairs or ())}
