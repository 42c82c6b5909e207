"""Prints docs/reference/errors.md from the errors' own texts: `make errors`."""

from app.api.kinds import CAUSE_AND_REMEDY
from app.errors import PHRASES, SureboxError

HEAD = """# Errors

Every error is a problem detail (RFC 9457, `application/problem+json`). `type` is `/problems/{code}`, where the service
explains the kind; `detail` explains this case and names a request that would work; `errors` points at each invalid
field by a JSON pointer into the body, or names a parameter as `?name`, `header:name` or `path:name`. A failed job
carries the same object as its `error`. Errors never quote a cell. Codes are stable; more may be added.
This page is written by `make errors`.

| code | status | title | cause | remedy |
|---|---|---|---|---|
"""


def kinds() -> list[type[SureboxError]]:
    """Errors, one a code, by status and code."""
    every: list[type[SureboxError]] = [SureboxError]
    for kind in every:
        every.extend(kind.__subclasses__())
    by_code = {kind.code: kind for kind in reversed(every)}
    return sorted(by_code.values(), key=lambda kind: (kind.status, kind.code))


def rows() -> list[str]:
    """One table row per code."""
    return [
        f"| `{kind.code}` | {kind.status} {PHRASES[kind.status]} | {kind().title} | "
        + " | ".join(text.replace("|", "\\|") for text in CAUSE_AND_REMEDY[kind.code])
        + " |"
        for kind in kinds()
    ]


if __name__ == "__main__":
    print(HEAD + "\n".join(rows()))
