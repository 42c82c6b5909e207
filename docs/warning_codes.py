"""Prints docs/warnings.md from the codes' own meanings: `make warnings`."""

from app.contracts.warnings import WarningCode

HEAD = """# Warnings

Datasets, jobs and releases carry `warnings`: what succeeded but will disappoint or expose. Each has a `code`, a
`pointer` to what it is about in the object that carries it (or null), and a `detail` that says what was found and what
to do. A warning never quotes a cell. Those of a job may tell of the original data and are, like its `result`, shown to
keys with the scope `jobs:read`; those of a release hold nothing restricted. Codes are stable; more may be added.
This page is written by `make warnings`.

| code | meaning |
|---|---|
"""


def rows() -> list[str]:
    """One table row per code, in the order of the enum."""
    return [f"| `{code.value}` | {code.meaning} |" for code in WarningCode]


if __name__ == "__main__":
    print(HEAD + "\n".join(rows()))
