"""Prints docs/reference/scopes.md from the scopes' meanings and the operations that require them: `make scopes`."""

from collections.abc import Iterator
from typing import Any

from app.api.openapi import document
from app.auth.principal import Scope

HEAD = """# Scopes and owners

Every request but those for [open pages](#without-a-key) carries an API key, `Authorization: Bearer sb_…`. A key
belongs to one owner and has scopes. This page is written by `make scopes`.

## Owners

An **owner** is the account that datasets, jobs, releases and keys belong to: a department, or a portal. A key sees the
objects of its owner only. For objects of others the answer is 404, as for objects that do not exist. Operators create
owners by creating their first key; there is no request for it:

```text
surebox keys create --owner health --name nightly --scope datasets:write --scope jobs:write --scope jobs:read
```

The key is shown once. `surebox keys list` and `surebox keys revoke` show and end keys, and a revoked key stops within
five seconds. A **family** is everything of an owner that is recognized as the same data: its datasets and all that
was published of them. `k` is counted over a family, so publish data of the same people under one owner.

## Which scopes a key needs

| task | scopes |
|---|---|
| upload a table, anonymize it, read the result | `datasets:write`, `jobs:write`, `jobs:read` |
| the same, and download the release | these and `releases:read` |
| publish, withdraw, accept findings | `releases:publish`, and `jobs:read` to see the findings |
| read published releases and ask questions of them | `releases:read` |
| see the log, limits of the owner, erase a family | `admin` |

Give a key of a portal that only shows releases `releases:read` alone. A key without `jobs:read` is for people who may
not see the original: refusals show it no figures, and a job's result not the true values.

## The scopes

| scope | allows |
|---|---|
"""

OPERATIONS = """
## What each operation requires

`or` separates alternatives. A key that is let in by the second one may see less; the description of the
operation in the [API](../../openapi/openapi.json) states what.

| operation | requires |
|---|---|
"""

OPEN = """
## Without a key

These answer anyone. Where the operator sets `SUREBOX_PUBLIC_RELEASES` ([settings](settings.md)), releases that are
published for everyone are read without a key too.

"""


def scopes() -> Iterator[str]:
    """Yield a row for each scope."""
    for scope in Scope:
        yield f"| `{scope.value}` | {scope.meaning} |"


def requirement(security: list[dict[str, Any]]) -> str:
    """Return the alternatives of an operation in words."""
    ways = [" and ".join(f"`{scope}`" for scope in sorted(way.get("bearer", []))) or "none" for way in security]
    return " or ".join(dict.fromkeys(ways))


def operations() -> Iterator[tuple[str, str]]:
    """Yield every operation with its row, and what it requires."""
    for path, methods in sorted(document()["paths"].items()):
        for method, operation in methods.items():
            required = requirement(operation.get("security", []))
            yield f"| {operation['summary']}: `{method.upper()} {path}` | {required} |", required


def page() -> str:
    """Return the whole page."""
    rows = list(operations())
    closed = [row for row, required in rows if required]
    open_ = [f"- {row.split('|')[1].strip()}" for row, required in rows if not required]
    return HEAD + "\n".join(scopes()) + "\n" + OPERATIONS + "\n".join(closed) + "\n" + OPEN + "\n".join(open_)


if __name__ == "__main__":
    print(page())
