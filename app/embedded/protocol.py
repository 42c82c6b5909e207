"""HTTP that cannot even be parsed is answered like every other mistake: with a problem, not with a line of text."""

import json
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.api.problems import MEDIA_TYPE
from app.errors import BadRequestError


class ProblemProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, with its one answer of its own replaced."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text says nothing that helps
        """Answer and hang up: nothing after this can be understood."""
        error = BadRequestError(
            "this is not HTTP/1.1 that can be read, or its address and headers are longer than 64 kB"
        )
        body = json.dumps(error.problem(None)).encode()
        status = HTTPStatus.BAD_REQUEST
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()
