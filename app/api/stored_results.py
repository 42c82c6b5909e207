"""Sending the whole result of a job: bytes from its row, or from storage when there are more of them."""

from collections.abc import Mapping

from fastapi import Response
from fastapi.responses import StreamingResponse

from app.db.repositories.job_results import StoredResult
from app.errors import UnavailableError
from app.storage.protocol import Storage


def stored_response(storage: Storage, found: StoredResult, *, headers: Mapping[str, str] | None = None) -> Response:
    """The result as the body of an answer."""
    if found.body is not None:
        return Response(found.body, media_type="application/json", headers=headers)
    if found.key is None:
        raise UnavailableError("the result cannot be found")
    return StreamingResponse(
        storage.chunks(found.key),
        media_type="application/json",
        headers={**(headers or {}), "Content-Length": str(found.bytes)},
    )
