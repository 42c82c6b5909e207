"""Report of a verification: the verdict, and a finding for each published statistic."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from surebox_verify.keys import KeyStatus, Signed
from surebox_verify.timestamps import Timestamp

_VERDICTS = ("holds", "refuted", "unchecked", "in doubt")


class Finding(StrEnum):
    """What became of one published statistic."""

    VERIFIED = "verified"
    CONSISTENT = "consistent"
    CONTRADICTED = "contradicted"
    EMPTY = "certainly empty"
    NOTHING_CLAIMED = "no range claimed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class StatisticFinding:
    """One published statistic, by the name that `surebox-certify` takes, and its range as it was computed again.

    Attributes
    ----------
    domain_may_be_empty : of a mean within values, whether data consistent with the file have no record with them, as it
        was computed again; None of other statistics, and where nothing was.
    reason : of a statistic that is not verified, the published value and the actual one.
    base, n : which released records it counts (`bases`), and how many; as it was computed again, else as published.
    """

    name: str
    kind: str
    of: tuple[str, ...]
    finding: Finding
    published: Any
    recomputed: Any
    domain_may_be_empty: bool | None = None
    reason: str | None = None
    base: str | None = None
    n: int | None = None


@dataclass(frozen=True)
class Report:
    """The findings.

    Attributes
    ----------
    release : its id; None where there is no certificate to state it.
    signature, signed_by : what the signatures are worth together, and each.
    files : by name, whether it is as certified.
    timestamp : when an authority saw the certificate, and what that is worth.
    revocation : `unknown` without a list or with one older than the certificate, `not revoked` by when the list was
        made, or since when it is.
    statistics : one a published statistic; of marked releases those about the core after all others.
    problems : all that is wrong, in words.
    unchecked : all that could not be checked.
    doubtful : ranges narrower than those computed again: another version of the search found them, or they are wrong.
    beyond_the_file : claims that no data file can show.
    not_covered : entries of a bundle that the certificate does not state.
    not_checked : members of the certificate, and certified files, that this version does not check; no fault.
    """

    release: str | None
    signature: KeyStatus
    signed_by: Sequence[Signed]
    files: Mapping[str, bool]
    timestamp: Timestamp
    revocation: str
    statistics: Sequence[StatisticFinding]
    problems: Sequence[str]
    unchecked: Sequence[str]
    doubtful: Sequence[str] = ()
    beyond_the_file: Sequence[str] = ()
    not_covered: Sequence[str] = ()
    not_checked: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        """0: every claim that can be checked is true; 1: one is wrong; 2: unchecked; 3: in doubt."""
        return 1 if self.problems else 3 if self.doubtful else 2 if self.unchecked else 0

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        at = self.timestamp.at
        stamp = asdict(self.timestamp) | {"at": None if at is None else at.isoformat().replace("+00:00", "Z")}
        return asdict(self) | {"timestamp": stamp, "verdict": _VERDICTS[self.exit_code]}


@dataclass(frozen=True)
class Recomputed:
    """What follows from a data file.

    Attributes
    ----------
    problems : claims that do not hold.
    beyond_the_file : claims that no file can show.
    unread : what could not be computed again, and why.
    """

    statistics: Sequence[StatisticFinding] = field(default_factory=list)
    problems: Sequence[str] = ()
    beyond_the_file: Sequence[str] = ()
    unread: Sequence[str] = ()
