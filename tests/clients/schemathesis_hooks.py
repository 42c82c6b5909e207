"""What schemathesis is told: requests that are meant to be valid speak of objects that exist, most of the time.

`EXISTING` in the environment names them (JSON: dataset, job, release). Objects are not deleted through these names:
DELETE keeps the made-up ones.
"""

import json
import os
from typing import Any

import schemathesis

from tests.clients.people import PEOPLE

EXISTING = json.loads(os.environ["EXISTING"])
#: Fields of a specification that only mean something together with the data; the others stay as they were made up.
FEASIBLE = {
    "dataset_id": EXISTING["dataset"],
    "quasi_identifiers": ["age", "wage"],
    "partition": "fast",
    "k": 5,
    "l": None,
    "statistics": None,
    "domains": {},
    "min_separation": {},
    "sensitive": [],
    "keep": [],
    "k_counts_kept": False,
    "rare_records": "keep",
}


@schemathesis.serializer("application/x-ndjson")
def as_it_is(_: Any, value: Any) -> bytes:
    """A file's bytes; schemathesis knows the other types of the upload, and not this one."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def is_valid(case: Any) -> bool:
    """Whether schemathesis means this request to be valid."""
    return case.meta is not None and case.meta.generation.mode.is_positive


def follows_links(case: Any) -> bool:
    """Whether the ids in it come from answers to earlier requests."""
    return case.meta.phase.name.value == "stateful"


@schemathesis.hook
def before_call(ctx: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Put existing ids in place of made-up ones, and a readable file in place of made-up bytes."""
    if not is_valid(case) or case.method == "DELETE":
        return
    for name in ("dataset", "job", "release"):
        if f"{name}_id" in (case.path_parameters or {}) and not follows_links(case):
            case.path_parameters[f"{name}_id"] = EXISTING[name]
    if case.path == "/v1/datasets" and case.method == "POST" and case.media_type == "application/octet-stream":
        case.body = PEOPLE
        case.query = {"format": "csv"}
        case.headers.pop("content-encoding", None)
    elif case.path == "/v1/anonymizations" and isinstance(case.body, dict):
        case.body |= FEASIBLE
    if follows_links(case):
        # A replayed answer speaks of an object that another scenario may have deleted since, and rightly so.
        case.headers.pop("Idempotency-Key", None)
