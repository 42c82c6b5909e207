"""Prints docs/reference/warnings.md from the codes' own meanings: `make warnings`."""

from app.contracts.warnings import WarningCode

HEAD = """# Warnings

Datasets, jobs and releases carry `warnings`: what succeeded but will disappoint or expose. Each has a `code`, a
`pointer` to its subject in the object that carries it (or null), and a `detail` that explains the problem and how to
solve it. A warning never quotes a cell. Warnings of a job may reveal facts about the original data and are, like its
`result`, shown to keys with the scope `jobs:read`; those of a release contain nothing restricted. Codes are stable;
more may be added.
This page is written by `make warnings`.

| code | meaning |
|---|---|
"""


def rows() -> list[str]:
    """One table row per code, in the order of the enum."""
    return [f"| `{code.value}` | {code.meaning} |" for code in WarningCode]


if __name__ == "__main__":
    print(HEAD + "\n".join(rows()))
