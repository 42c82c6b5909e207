"""`/`: doors, as a page for browsers and as JSON for everyone else; no redirect, nothing loaded."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

#: What there is to go to: name, address, what one finds there.
_DOORS: Final = (
    ("guide", "/guide", "How to publish a table, what it promises, how to run the service."),
    ("docs", "/docs", "Every request, to read and to try."),
    ("api", "/openapi.json", "The same as an OpenAPI document, for clients to be generated from."),
    ("health", "/readyz", "Whether every part of the service is there."),
)
_TITLES: Final = {"guide": "Guide", "docs": "Requests", "api": "The API", "health": "Health"}
_STYLE: Final = (
    "body{margin:0 auto;max-width:40rem;padding:2rem 1rem;font:1rem/1.5 system-ui,sans-serif;"
    "color:#111;background:#fff}"
    "h1{margin-bottom:0}ul{list-style:none;padding:0;margin:1.5rem 0}code{white-space:nowrap}"
    "li{margin:.75rem 0;padding:.75rem 1rem;border:1px solid #c9d3df;border-radius:.4rem}"
    "a{color:#0b3d7a;font-weight:600;font-size:1.1rem}"
)
_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; frame-ancestors 'none'"


def include_start(app: FastAPI, *, health: bool = True) -> None:
    """Serve the start at `/`; `health` states whether its door to health is at this address."""
    open_doors = _DOORS if health else _DOORS[:-1]

    @app.get("/", include_in_schema=False)
    async def get_start(request: Request) -> Response:
        root = request.scope.get("root_path", "").rstrip("/")
        vary = {"Vary": "Accept"}
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(
                _page(app.title, root, open_doors), headers={**vary, "Content-Security-Policy": _POLICY}
            )
        doors = {name: root + path for name, path, _ in open_doors}
        return JSONResponse({"name": app.title, "version": app.version, **doors}, headers=vary)


def _page(title: str, root: str, open_doors: Sequence[tuple[str, str, str]]) -> str:
    doors = "".join(f'<li><a href="{root}{path}">{_TITLES[name]}</a><br>{use}</li>' for name, path, use in open_doors)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f"<body><main><h1>{title}</h1><p>Anonymizes microdata and audits anonymization.</p><ul>{doors}</ul>"
        "<p>Requests need an API key: <code>Authorization: Bearer sb_…</code>.</p></main></body>\n</html>\n"
    )
