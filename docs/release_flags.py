"""Prints docs/reference/flags.md from the flags' own meanings and the methods that raise them: `make flags`."""

from app.contracts.flags import Flag
from app.contracts.jobs import JobKind
from app.methods.catalogue import METHODS, methods_of

HEAD = """# Flags

A release carries `flags`: fixed words for everything that a reader must know about how it was made. They are in the
release and in its public provenance. None is renamed or given another meaning; more may be added.
This page is written by `make flags`.

| flag | methods | meaning |
|---|---|---|
"""


_OF_ALL = {
    Flag.REPRODUCIBLE, Flag.COMPOSITION_ACCEPTED, Flag.PROTECTION_FAILED, Flag.DECLARED_DATA, Flag.TYPES_FROM_DATA,
}  # fmt: skip


def methods_with(flag: Flag) -> str:
    """The methods whose releases may bear the flag; what has nothing to do with the method, such as a seed, all."""
    of_all = flag in _OF_ALL
    able = methods_of(JobKind.ANONYMIZATION) if of_all else METHODS.values()
    return ", ".join(f"`{one.name}`" for one in able if of_all or flag in one.flags)


def rows() -> list[str]:
    """One table row per flag, in the order of the enum."""
    return [f"| `{flag.value}` | {methods_with(flag)} | {flag.meaning} |" for flag in Flag]


if __name__ == "__main__":
    print(HEAD + "\n".join(rows()))
