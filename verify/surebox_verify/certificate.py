"""What a certificate states: an in-toto Statement v1 about the files of a release, and the list of revoked ones."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import rfc8785

from surebox_verify.envelope import LARGEST, REVOCATIONS, STATEMENT, Envelope, UnreadableError
from surebox_verify.members import NOTHING_ELSE, Members, members_of

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:surebox:certificate:3"
_BEFORE = ("urn:surebox:certificate:1", "urn:surebox:certificate:2")
STATISTICS = "statistics.json"
FORMATS: Final = ("parquet", "csv", "ndjson", "csv.gz", "excel.csv")
#: Data files that this version reads, as a certificate and a bundle name them; the last two endings are of before.
DATA: Final = tuple(f"release.{name}" for name in (*FORMATS, "csv.excel", "csv.escaped"))


@dataclass(frozen=True)
class Certificate:
    """The statement about a release.

    Attributes
    ----------
    digests : SHA-256 of every file and of the statistics, by name.
    issued_at : when it was signed.
    release : the release's id.
    parameters : how it was made, as far as that is public; `method` among them.
    columns : type of each column of the files, by name.
    plain : whether CSV has one value for each set of a column, by name; of those for which it is stated.
    statistics : as published with it.
    previous : SHA-256 of the certificate before it in the owner's chain; None for the first.
    rows : of each file; None where it reveals nothing of them.
    k : as it is next to the parameters, which have it too; None likewise.
    flags : what readers must know; None likewise.
    members : those that this version does not check.
    """

    digests: Mapping[str, str]
    issued_at: datetime
    release: str
    parameters: Mapping[str, Any]
    columns: Mapping[str, str]
    plain: Mapping[str, bool]
    statistics: Sequence[Mapping[str, Any]]
    previous: str | None
    rows: int | None = None
    k: float | None = None
    flags: frozenset[str] | None = None
    members: Members = NOTHING_ELSE

    @property
    def data_digests(self) -> frozenset[str]:
        """SHA-256 of the data files that this version reads."""
        return frozenset(digest for name, digest in self.digests.items() if name in DATA)

    def refuse_unread(self) -> None:
        """Refuse to read a file by a certificate that gives it a meaning which this version does not know.

        Raises
        ------
        UnreadableError
            With the first reason.
        """
        if self.members.unread:
            raise UnreadableError(self.members.unread[0])


@dataclass(frozen=True)
class Revocations:
    """The revocations, each with the time: certificates by their SHA-256, signing keys by their id."""

    issued_at: datetime
    revoked: Mapping[str, str]
    keys: Mapping[str, str]


def read_certificate(envelope: Envelope) -> Certificate:
    """What the payload of an envelope states.

    Raises
    ------
    UnreadableError
        It is no certificate of a release, or of a kind that this version does not know.
    """
    body = envelope.body()
    known = (envelope.payload_type, body.get("_type"), body.get("predicateType"))
    if known[:2] == (STATEMENT, STATEMENT_TYPE) and known[2] in _BEFORE:
        msg = (
            f"the certificate ({known[2]}) is of an unreleased version of Surebox, whose fields and numbers meant "
            "something else: the surebox-verify of that version reads it, this one checks nothing of it"
        )
        raise UnreadableError(msg)
    if known != (STATEMENT, STATEMENT_TYPE, PREDICATE_TYPE):
        msg = "the envelope contains no certificate of a release that this version can read"
        raise UnreadableError(msg)
    try:
        predicate = body["predicate"]
        release = predicate["release"]
        rows, k, flags = release.get("rows"), predicate.get("k"), release.get("flags")
        return Certificate(
            digests={str(each["name"]): str(each["digest"]["sha256"]) for each in body["subject"]},
            issued_at=_instant(predicate["issued_at"]),
            release=str(release["id"]),
            parameters=dict(predicate["parameters"]),
            columns={str(each["name"]): str(each["type"]) for each in release["columns"]},
            plain={
                str(each["name"]): each["plain_in_csv"] is True
                for each in release["columns"]
                if each.get("plain_in_csv") is not None
            },
            statistics=[dict(each) for each in predicate["statistics"]],
            previous=predicate["chain"]["previous"],
            rows=None if rows is None else int(rows),
            k=None if k is None else float(k),
            flags=None if flags is None else frozenset(str(each) for each in flags),
            members=members_of(body),
        )
    except UnreadableError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        msg = f"the certificate lacks what every certificate has ({type(error).__name__})"
        raise UnreadableError(msg) from None


def read_revocations(envelope: Envelope) -> Revocations:
    """What the payload of a list of revocations states.

    Raises
    ------
    UnreadableError
        It is no such list.
    """
    body = envelope.body()
    if envelope.payload_type != REVOCATIONS:
        body = {}
    try:
        revoked = {str(each["certificate"]): str(each["revoked_at"]) for each in body["revoked"]}
        keys = {str(each["key"]): str(each["revoked_at"]) for each in body.get("revoked_keys", ())}
        return Revocations(_instant(body["issued_at"]), revoked, keys)
    except (KeyError, TypeError, ValueError):
        msg = "the envelope contains no list of revocations"
        raise UnreadableError(msg) from None


def statistics_digest(method: Any, statistics: Sequence[Mapping[str, Any]]) -> str:
    """SHA-256 of published statistics in their canonical form (RFC 8785), the subject `statistics.json`."""
    stated = {"method": method, "statistics": list(statistics)}
    return hashlib.sha256(rfc8785.dumps(exact(stated))).hexdigest()


def exact(value: Any) -> Any:
    """The same JSON with every integer that a double may not represent as text."""
    if isinstance(value, Mapping):
        return {name: exact(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [exact(each) for each in value]
    too_long = isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST
    return str(value) if too_long else value


def _instant(text: Any) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError
    return instant.astimezone(UTC)
