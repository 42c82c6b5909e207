"""What the report of a release is written from: what its readers see, and nothing else."""

from collections.abc import Mapping
from typing import Any, Final

from app.certificates.read import certified_at
from app.db.repositories.release_access import Viewer
from app.db.session import Database
from app.methods.report.spec import ReleaseReportSpec
from app.releases.read import read_parameters, read_provenance, read_release, read_statistics

#: What only keepers see of a release.
_KEEPERS: Final = {"readers", "findings", "family_id"}
_VERSION: Final = "surebox:version_"


def release_report(*, database: Database, viewer: Viewer, release_id: str) -> ReleaseReportSpec:
    """The question for the public report of a release.

    Raises
    ------
    NotFoundError
        If there is no such release.
    """
    mine: dict[str, Any] = {"database": database, "viewer": viewer, "release_id": release_id}
    release = read_release(**mine)
    certified = certified_at(database=database, release_id=release_id)
    return ReleaseReportSpec(
        release_id=release_id,
        release=release.model_dump(mode="json", exclude=_KEEPERS) | certified,
        statistics=tuple(dict(one) for one in read_statistics(**mine)),
        parameters=read_parameters(**mine),
        software=_software(read_provenance(**mine)),
    )


def _software(provenance: Mapping[str, Any]) -> dict[str, str]:
    facts: Mapping[str, Any] = provenance.get("agent", {}).get("surebox:software", {})
    return {name.removeprefix(_VERSION): str(value) for name, value in facts.items() if name.startswith(_VERSION)}
