"""Certificates: an in-toto Statement v1 about what a release publishes, signed, in its owner's chain.

A certificate states the public part of a release already, and nothing else: the owner, the original and its size,
suppressed records and findings of audits are not in it. Numbers of other releases neither: of the one before it is a
digest.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final

import rfc8785
import structlog

from app.certificates.signing import SigningKey, envelope, jwk, open_keys
from app.contracts.releases import ending_of
from app.db.repositories import certificates, signing_keys
from app.db.repositories.certificates import Link
from app.db.repositories.releases import ReleaseRow
from app.db.session import Connection, Database
from app.errors import CannotStartError
from app.methods.catalogue import public_statistics
from app.settings import Settings

STATEMENT: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:surebox:certificate:3"
AT_PUBLICATION: Final = "at publication"
AFTER_PUBLICATION: Final = "after publication"
AT_MIGRATION: Final = "at migration"

_LARGEST: Final = 2**53 - 1
_AT_ONCE: Final = 100

log = structlog.get_logger(__name__)


def issue(connection: Connection, *, settings: Settings, release_id: str, issued: str = AT_PUBLICATION) -> bool:
    """Give a release its certificate, in the transaction that publishes it.

    Parameters
    ----------
    connection
        Of that transaction; the release's rows and its provenance are written.
    settings
        They name the signing keys.
    release_id
        The release.
    issued
        Why now, as the certificate states it.

    Returns
    -------
    bool
        False where no key is set (housekeeping issues it once there is one), or it has a certificate already.
    """
    try:
        keys = open_keys(settings)
    except CannotStartError as error:  # a release does not wait for its operator; its certificate does
        log.warning("certificate.unsigned", release_id=release_id, why=error.detail)
        return False
    if not keys:
        return False
    uncertified = certificates.certifiable(connection, release_id=release_id)
    if uncertified is None:
        return False
    made, files = uncertified
    certificates.lock_chain(connection, owner=made.owner)
    position, previous = certificates.head(connection, owner=made.owner)
    signing = register(connection, keys)
    if not any(jwk(key)["kid"] in signing for key in keys):
        return False
    at = certificates.now(connection)
    document = statement(made, files, previous=previous, at=at, issued=issued, url=settings.public_url)
    payload = rfc8785.dumps(_exact(document))
    certificates.insert_certificate(
        connection,
        link=Link(
            release_id=made.id,
            owner=made.owner,
            position=position + 1,
            previous=previous,
            sha256=hashlib.sha256(payload).hexdigest(),
            envelope=envelope(keys, payload_type=STATEMENT, payload=payload, signing=signing),
            issued_at=at,
        ),
    )
    return True


def issue_missing(*, database: Database, settings: Settings) -> int:
    """Give every release without a certificate one; how many there were. Housekeeping calls it."""
    keys = open_keys(settings)
    if not keys:
        return 0
    with database.unit_of_work() as unit:
        register(unit.connection, keys)
        due = certificates.uncertified(unit.connection, limit=_AT_ONCE)
    count = 0
    for release_id, before_keys in due:
        issued = AT_MIGRATION if before_keys else AFTER_PUBLICATION
        with database.unit_of_work() as unit:
            count += issue(unit.connection, settings=settings, release_id=release_id, issued=issued)
    return count


def register(connection: Connection, keys: Sequence[SigningKey]) -> frozenset[str]:
    """Note the keys that are there; the ids of those that sign now."""
    signing_keys.register(connection, jwks=[jwk(key) for key in keys])
    return signing_keys.signing(connection)


def statement(
    made: ReleaseRow,
    files: Mapping[str, str],
    *,
    previous: str | None,
    at: datetime,
    issued: str,
    url: str | None = None,
) -> dict[str, Any]:
    """What a certificate states.

    Parameters
    ----------
    made, files
        The release, of which the certificate states public data, and the checksums of its files by their formats.
    previous
        Digest of the certificate before it in the owner's chain.
    at, issued
        When it is signed, and why then.
    url
        Where the service is reached from outside, if its operator states it: there readers find keys and revocations.
    """
    statistics = public_statistics(made.method, made.statistics)
    subjects = {f"release.{ending_of(name)}": digest for name, digest in sorted(files.items())}
    subjects["statistics.json"] = hashlib.sha256(canonical_statistics(made.method, statistics)).hexdigest()
    parameters = dict(made.parameters)
    issuer = {"service": "surebox", "version": version("surebox")} | ({} if url is None else {"url": url})
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects.items()],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "issuer": issuer,
            "issued_at": at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "issued": issued,
            "release": {
                "id": made.id,
                "rows": made.rows,
                "columns": [dict(column) for column in made.columns],
                "flags": list(made.flags),
            },
            "parameters": {"method": made.method} | parameters,
            "k": parameters.get("k"),
            "about": "the released records: ranges are certain for data that are consistent with the release",
            "statistics": statistics,
            "chain": {"previous": previous},
        },
    }


def canonical_statistics(method: str, public: Sequence[Mapping[str, Any]]) -> bytes:
    """What the subject `statistics.json` is the digest of.

    Parameters
    ----------
    method
        That made the release.
    public
        Statistics of a release as its readers see them.
    """
    return rfc8785.dumps(_exact({"method": method, "statistics": public}))


def payload_of(raw: bytes) -> bytes:
    """The payload of an envelope of ours."""
    return base64.b64decode(json.loads(raw)["payload"])


def issued_at(raw: bytes) -> datetime:
    """When an envelope of ours states that it was issued."""
    return datetime.fromisoformat(json.loads(payload_of(raw))["predicate"]["issued_at"])


def _exact(value: Any) -> Any:
    """The same JSON with every integer that a double may not represent as text: RFC 8785 has none."""
    if isinstance(value, Mapping):
        return {name: _exact(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(each) for each in value]
    too_long = isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST
    return str(value) if too_long else value
