"""`/guide`: the guide that `make docs` builds, as files, with nothing loaded from elsewhere.

The distribution and the image of the API contain it. An installation that does not answers with a page that says so.
"""

from http import HTTPStatus
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PATH: Final = "/guide"
FOLDER: Final = Path(__file__).parents[1] / "guide"
#: The style that the search of Zensical 0.0.73 brings into its own part of the page.
_SEARCH: Final = "sha256-NwSx/R2V/U4jnW0Tq5pQ53Y/rzPVJ4dqE7D6UTA/J1k="
#: Scripts and styles are files of the guide's own; its search runs in a worker.
_POLICY: Final = (
    f"default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' '{_SEARCH}'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE: Final = (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head>\n'
    "<body><main><h1>{title}</h1>{text}</main></body>\n</html>\n"
)
_NOT_INSTALLED: Final = (
    "<p>This installation of Surebox was made without its guide. In a checkout, <code>make docs</code> builds it; "
    "the image of the API and the wheels of <code>make wheels</code> contain it.</p>"
    '<p>Every request is described at <a href="{root}/docs">the API</a>.</p>'
)
_NO_SUCH_PAGE: Final = '<p>Its pages are listed at <a href="{root}/guide/">the overview</a>.</p>'


class _Guide(StaticFiles):
    """Files of the guide under its policy, or pages that state its absence."""

    def __init__(self, folder: Path) -> None:
        self.installed = (folder / "index.html").is_file()
        super().__init__(directory=folder, html=True, check_dir=self.installed)

    async def check_config(self) -> None:
        """Accept that the folder is not there."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file of the guide, or a page that states its absence."""
        root = scope.get("app_root_path", "").rstrip("/")
        if scope["method"] not in ("GET", "HEAD") or self.installed:
            try:
                response = await super().get_response(path, scope)
            except HTTPException as error:
                if error.status_code != HTTPStatus.NOT_FOUND:
                    raise
                response = _missing("There is no such page of the guide", _NO_SUCH_PAGE, root)
        else:
            response = _missing("The guide is not installed", _NOT_INSTALLED, root)
        response.headers["Content-Security-Policy"] = _POLICY
        return response


def _missing(title: str, text: str, root: str) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=title, text=text.format(root=root)), status_code=HTTPStatus.NOT_FOUND)


def include_guide(app: FastAPI) -> None:
    """Serve the guide at `/guide`, or a page that states that it is not installed."""
    guide = _Guide(FOLDER)

    @app.get(PATH, include_in_schema=False)
    async def get_guide(request: Request) -> Response:
        root = request.scope.get("root_path", "").rstrip("/")
        if guide.installed:  # pages link to each other by relative paths
            return RedirectResponse(f"{root}{PATH}/")
        return await guide.get_response(".", {**request.scope, "app_root_path": root})

    app.mount(PATH, guide, name="guide")
