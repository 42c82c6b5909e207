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


def is_valid(case: Any) -> bool:
    """Whether schemathesis means this request to be valid."""
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(ctx: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Put existing ids in place of made-up ones, and a readable file in place of made-up bytes."""
    if not is_valid(case) or case.method == "DELETE":
        return
    for name in ("dataset", "job", "release"):
        if f"{name}_id" in (case.path_parameters or {}):
            case.path_parameters[f"{name}_id"] = EXISTING[name]
    if case.path == "/v1/datasets" and case.method == "POST":
        case.media_type, case.body = "text/csv", PEOPLE
        case.query = {name: case.query[name] for name in ("name",) if name in case.query}
        case.headers["Content-Type"] = "text/csv"
        case.headers.pop("content-encoding", None)
    elif case.path == "/v1/anonymizations" and isinstance(case.body, dict):
        case.body |= {"dataset_id": EXISTING["dataset"], "columns": ["age"], "partition": "fast"}
