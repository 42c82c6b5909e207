"""The audit `table` of an own release: records that its kept columns single out, beside those that it was made by."""

import numpy as np

from app.contracts.findings import Finding, FindingSeverity
from app.contracts.gate import MissingMatches
from app.methods.table.spec import TableSpec
from app.sentences import listed
from workers.frames.codes import coded_columns
from workers.methods.context import JobContext
from workers.methods.table.measures import Neighbourhoods
from workers.methods.table.reading import Audited


def kept_too(job: JobContext, spec: TableSpec, audited: Audited) -> tuple[Finding, ...]:
    """Return a finding where those who know the kept columns of a release too single records out.

    Parameters
    ----------
    job, spec
        The audit. Columns that it takes as sensitive are known to no one, so they are left out.
    audited
        The records, by its quasi-identifiers.
    """
    if spec.release_id is None:
        return ()
    release = job.releases["release_id"]
    shown = {column.name for column in release.columns} - {*spec.quasi_identifiers, *spec.sensitive}
    kept = tuple(name for name in release.made.keep if name in shown)
    if not kept:
        return ()
    beside = [one.codes[audited.kept] for one in coded_columns(job.release_path(), kept)]
    codes = np.vstack([audited.codes, *beside]).astype(np.int32, copy=False)
    if spec.missing_matches is MissingMatches.DROP_RECORDS:
        codes = codes[:, codes.min(axis=0) >= 0]
    seen = Neighbourhoods(np.ascontiguousarray(codes), spec.missing_matches is MissingMatches.MATCHES_ANYTHING)
    if not codes.shape[1] or not seen.unique:
        return ()
    alone = seen.unique / codes.shape[1]
    detail = f"those who know the kept {listed([repr(name) for name in kept])} of a person too "
    detail += f"can single out {alone:.1%} of the records"
    return (Finding(audit="table", severity=FindingSeverity.MEDIUM, detail=detail, measured=alone, required=0.0),)
