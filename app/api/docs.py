"""`/docs`: the OpenAPI document as a page, with nothing loaded from elsewhere.

The page's script and style come from the package `fastapi-swagger`, used as a folder of files only: a portal without
internet gets the same page, and no third party learns who reads it. Keys typed into the page are not stored, and its
policy lets no script run but the two that make it.
"""

import base64
import hashlib
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

_PACKAGE: Final = "fastapi_swagger"
_HEAD: Final = "<body>"
_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def include_docs(app: FastAPI) -> None:
    """Serve the page at `/docs` and its files below it."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:  # pragma: no cover - a dependency of the distribution
        msg = f"{_PACKAGE} is not installed"
        raise ModuleNotFoundError(msg, name=_PACKAGE)

    @app.get("/docs", include_in_schema=False)
    async def get_docs(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "").rstrip("/")
        page = get_swagger_ui_html(
            openapi_url=f"{root}/openapi.json",
            title=f"{app.title}: the API",
            swagger_js_url=f"{root}/docs/files/swagger-ui-bundle.js",
            swagger_css_url=f"{root}/docs/files/swagger-ui.css",
            swagger_favicon_url=f"{root}/docs/files/favicon-32x32.png",
            swagger_ui_parameters={"persistAuthorization": False, "displayRequestDuration": True},
        )
        shown = bytes(page.body).decode().replace(_HEAD, f'{_HEAD}<p><a href="{root}/guide">The guide</a></p>', 1)
        return HTMLResponse(shown, headers={"Content-Security-Policy": _policy(shown)})

    app.mount("/docs/files", StaticFiles(directory=Path(spec.origin).parent / "resources"), name="docs")


def _policy(page: str) -> str:
    """The page's own scripts and styles, the digest of its one script, and requests to this service."""
    digests = (hashlib.sha256(script.encode()).digest() for script in _SCRIPT.findall(page))
    scripts = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
