"""Whether the chains of published releases are whole: nothing put in, taken out, changed or put elsewhere."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.certificates.issue import payload_of
from app.certificates.signing import is_signed
from app.db.repositories import certificates, signing_keys
from app.db.repositories.certificates import Link
from app.db.session import Database


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The findings about one owner's chain; `broken` in words, empty where all is well."""

    owner: str
    certificates: int
    erased: int
    head: str | None
    broken: tuple[str, ...]


def verify_chains(*, database: Database, owner: str | None = None) -> list[ChainReport]:
    """Follow each chain from its first certificate to its last.

    Parameters
    ----------
    database
        Where they are.
    owner
        Of this owner only.

    Returns
    -------
    list of ChainReport
        Whoever keeps a `head` from before sees whether the chain still leads to it.
    """
    with database.read() as connection:
        links = certificates.chains(connection, owner=owner)
        keys = [each.jwk for each in signing_keys.list_keys(connection)]
    owners = dict.fromkeys(each.owner for each in links)
    return [_followed(name, [each for each in links if each.owner == name], keys) for name in owners]


def _followed(owner: str, links: list[Link], keys: list[Mapping[str, Any]]) -> ChainReport:
    broken: list[str] = []
    before: str | None = None
    for place, link in enumerate(links, 1):
        label = f"certificate {place} ({link.release_id})"
        if link.position != place:
            broken.append(f"{label}: one before it is missing")
        if link.previous != before:
            broken.append(f"{label}: does not name the one before it")
        broken += [f"{label}: {fault}" for fault in _faults(link, keys)]
        before = link.sha256
    return ChainReport(owner, len(links), sum(each.envelope is None for each in links), before, tuple(broken))


def _faults(link: Link, keys: list[Mapping[str, Any]]) -> list[str]:
    """Of one certificate whose envelope is there."""
    if link.envelope is None:
        return []
    try:
        payload = payload_of(link.envelope)
        predicate = json.loads(payload)["predicate"]
        named, previous = predicate["release"]["id"], predicate["chain"]["previous"]
        signed = is_signed(link.envelope, keys)
    except (ValueError, KeyError, TypeError):
        return ["its envelope cannot be read"]
    faults = [] if hashlib.sha256(payload).hexdigest() == link.sha256 else ["its payload was changed"]
    if not signed:
        faults.append("none of the service's keys signed it")
    if (named, previous) != (link.release_id, link.previous):
        faults.append("it states another place or release than it has")
    return faults
