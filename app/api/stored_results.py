"""Sending the whole result of a job: bytes from its row, or from storage when there are more of them."""

from collections.abc import Mapping

from fastapi import Response
from fastapi.responses import StreamingResponse

from app.db.repositories.job_results import StoredResult
from app.errors import UnavailableError
from app.storage.protocol import Storage


def stored_response(storage: Storage, result: StoredResult, *, headers: Mapping[str, str] | None = None) -> Response:
    """The result as the body of an answer."""
    if result.body is not None:
        return Response(result.body, media_type="application/json", headers=headers)
    if result.key is None:
        raise UnavailableError("the result cannot be found")
    return StreamingResponse(
        storage.chunks(result.key),
        media_type="application/json",
        headers={**(headers or {}), "Content-Length": str(result.bytes)},
    )
