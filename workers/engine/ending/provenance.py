"""Provenance of a job: the record kept in Postgres, and its W3C PROV-JSON, restricted and public.

The public document goes out with the release. It states how the release was made and by which code, and nothing of the
data it was made from: neither checksum nor number of records of the original, no duration (it grows with both), no
owner, no seed, and of the specification only what the runner gives for publication.
"""

import json
import platform
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from prov.model import ProvActivity, ProvAgent, ProvDocument, ProvEntity

from app.contracts.inputs import Inputs
from app.db.repositories.claims import Claim
from app.db.repositories.job_results import ProvenanceRecord
from app.db.repositories.releases import ReleaseRow

_NAMESPACE = "urn:surebox:"
_PACKAGES = ("surebox", "numpy", "scipy", "numba", "polars", "pyarrow", "celery", "sqlalchemy", "pydantic")


@cache
def versions() -> dict[str, str]:
    """Versions of the code, of Python and of what the numbers depend on."""
    installed = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def record(
    *,
    claimed: Claim,
    attempts: list[dict[str, Any]],
    finished_at: datetime,
    release: ReleaseRow | None,
    sha256: Mapping[str, str],
) -> ProvenanceRecord:
    """The provenance of a job that has just succeeded, with its release and the checksums of that by format."""
    made_from = claimed.inputs.dataset
    shown = [{key: _plain(value) for key, value in attempt.items()} for attempt in attempts]
    return ProvenanceRecord(
        job_id=claimed.id,
        owner=claimed.owner,
        requested_by=claimed.requested_by,
        requested_at=claimed.created_at,
        finished_at=finished_at,
        seconds=(finished_at - attempts[-1]["started_at"]).total_seconds(),
        dataset_id=None if made_from is None else made_from.id,
        dataset_sha256=None if made_from is None else made_from.sha256,
        spec=claimed.spec,
        versions=versions(),
        attempts=shown,
        release_id=None if release is None else release.id,
        release_sha256=None if release is None else dict(sha256),
        public=public_document(claimed, finished_at, release, sha256),
        restricted=restricted_document(claimed, shown, finished_at, release, sha256),
    )


def public_document(
    claimed: Claim, finished_at: datetime, release: ReleaseRow | None, sha256: Mapping[str, str]
) -> dict[str, Any]:
    """The document that goes out with the release."""
    document = _document()
    parameters = {} if release is None else release.parameters
    job = document.activity(
        f"surebox:{claimed.id}",
        other_attributes={"surebox:method": claimed.method, "surebox:parameters": _json(parameters)},
    )
    document.wasAssociatedWith(job, _software(document))
    base, previous = claimed.inputs.base, claimed.inputs.previous
    if base is None:
        source = document.entity("surebox:source", {"prov:label": "the original microdata, withheld"})
    else:
        source = document.entity(f"surebox:{base.id}", {"prov:label": "the base release of the series"})
    document.used(job, source)
    if previous is not None:
        document.used(job, document.entity(f"surebox:{previous.id}", {"prov:label": "the release whose boxes it has"}))
    if release is not None:
        _derive(document, job, [source], _release(document, release, sha256), finished_at)
    return _serialized(document)


def restricted_document(
    claimed: Claim,
    attempts: list[dict[str, Any]],
    finished_at: datetime,
    release: ReleaseRow | None,
    sha256: Mapping[str, str],
) -> dict[str, Any]:
    """The whole document, for the owner of the job."""
    document = _document()
    job = document.activity(
        f"surebox:{claimed.id}",
        claimed.created_at,
        finished_at,
        {
            "surebox:method": claimed.method,
            "surebox:kind": claimed.kind,
            "surebox:specification": _json(claimed.spec),
            "surebox:attempts": _json(attempts),
        },
    )
    owner = document.agent(f"surebox:owner-{claimed.owner}", {"surebox:owner": claimed.owner})
    document.wasAssociatedWith(job, _software(document))
    document.wasAssociatedWith(
        job, owner, other_attributes={"surebox:api_key": claimed.requested_by} if claimed.requested_by else None
    )
    sources = _used(document, job, claimed.inputs)
    if release is not None:
        _derive(document, job, sources, _release(document, release, sha256), finished_at)
    return _serialized(document)


def _used(document: ProvDocument, job: ProvActivity, inputs: Inputs) -> list[ProvEntity]:
    """Everything the job worked on, each by the field that names it; what its release can be derived from."""
    sources: dict[str, ProvEntity] = {}
    for role, dataset in inputs.datasets.items():
        facts: dict[str, Any] = {"surebox:sha256": dataset.sha256}
        if dataset.key is not None:
            facts["surebox:rows"] = dataset.rows
        _use(document, job, sources, role=role, name=dataset.id, facts=facts)
    for role, release in inputs.releases.items():
        facts = {"surebox:rows": release.rows, "surebox:method": release.method}
        if release.sha256:
            facts["surebox:sha256"] = release.sha256
        _use(document, job, sources, role=role, name=release.id, facts=facts)
    for role, earlier in inputs.jobs.items():
        other = document.activity(f"surebox:{earlier.id}", other_attributes={"surebox:method": earlier.method})
        document.wasInformedBy(job, other, other_attributes={"surebox:role": role})
    return list(sources.values())


def _use(
    document: ProvDocument,
    job: ProvActivity,
    sources: dict[str, ProvEntity],
    *,
    role: str,
    name: str,
    facts: dict[str, Any],
) -> None:
    if name not in sources:
        sources[name] = document.entity(f"surebox:{name}", facts)
    document.used(job, sources[name], other_attributes={"prov:role": role})


def _document() -> ProvDocument:
    document = ProvDocument()
    document.add_namespace("surebox", _NAMESPACE)
    return document


def _software(document: ProvDocument) -> ProvAgent:
    facts: dict[str, Any] = {f"surebox:version_{package}": number for package, number in versions().items()}
    facts["prov:type"] = "prov:SoftwareAgent"
    return document.agent("surebox:software", facts)


def _release(document: ProvDocument, release: ReleaseRow, sha256: Mapping[str, str]) -> ProvEntity:
    facts: dict[str, Any] = {f"surebox:sha256_{name}": checksum for name, checksum in sha256.items()}
    facts |= {"surebox:rows": release.rows, "surebox:flags": _json(list(release.flags))}
    return document.entity(f"surebox:{release.id}", facts)


def _derive(
    document: ProvDocument, job: ProvActivity, sources: list[ProvEntity], release: ProvEntity, at: datetime
) -> None:
    document.wasGeneratedBy(release, job, at)
    for source in sources:
        document.wasDerivedFrom(release, source, job)


def _serialized(document: ProvDocument) -> dict[str, Any]:
    text = document.serialize(format="json")
    loaded: dict[str, Any] = json.loads(text or "{}")
    return loaded


def _json(value: Any) -> str:
    return json.dumps(value, default=_plain, allow_nan=False, sort_keys=True)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
