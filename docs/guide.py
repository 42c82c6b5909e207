"""Build the guide from the project's Markdown: `make docs` writes it into app/guide, which is served at `/guide`.

The pages are copied into one tree, links between them follow, and Zensical builds it: a link to a page or a heading
that is not there fails the build. Equations become MathML and scripts become files, so that a page needs no other host
and a policy without exceptions.
"""

import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mathematics import displayed, rendered

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
BUILT: Final = ROOT / "app" / "guide"
#: Pages outside docs/, each with its place in the guide.
OUTSIDE: Final = {
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "openapi/sdk/python/README.md": "reference/python-client.md",
    "verify/README.md": "reference/surebox-verify.md",
    "workers/algorithms/README.md": "explanation/equations.md",
}
#: The front of the checkout: in the guide its place is taken by the overview.
FRONT: Final = {"README.md": "index.md"}
#: The page whose blocks of text are equations.
EQUATIONS: Final = "explanation/science" + ".md"
#: What the service has beside the guide: pages link to it by this name, and the built ones by a path.
SERVICE: Final = "https://service.invalid/"
SERVED: Final = {"openapi/openapi.json": f"{SERVICE}openapi.json"}
_FENCE: Final = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
#: A word after the language of a block states who runs it: Zensical would take no such line for a fence.
_RUN_BY: Final = re.compile(r"^( *```\w+) [^\n`]+$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_ESCAPE: Final = re.compile(r"\x1b\[[0-9;]*m")
_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_FORMULA: Final = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


class BrokenGuideError(Exception):
    """The guide has a link to nothing, or a page that is not in its tree."""


def sources(root: Path = ROOT) -> dict[Path, str]:
    """Return every page by its file, with its place in the guide."""
    places = {root / name: place for name, place in OUTSIDE.items()}
    docs = root / "docs"
    for page in sorted(docs.rglob("*.md")):
        place = page.relative_to(docs).as_posix()
        places[page] = "index.md" if place == "README.md" else place
    for page in sorted((root / "benchmarks").glob("*.md")):
        places.setdefault(page, f"benchmarks/{page.name}")
    return places


def planned(node: Any) -> Iterator[str]:
    """Yield the places of pages that the navigation names."""
    if isinstance(node, str):
        if "://" not in node:
            yield node
    else:
        for part in node.values() if isinstance(node, dict) else node:
            yield from planned(part)


def stage(folder: Path, root: Path = ROOT) -> None:
    """Write the tree of pages that Zensical builds.

    Raises
    ------
    BrokenGuideError
        When the navigation and the pages are not the same, or a link leads to no file of the project.
    """
    places = sources(root)
    configuration = (root / "docs" / "zensical.toml").read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(configuration, encoding="utf-8")
    named = set(planned(tomllib.loads(configuration)["project"]["nav"]))
    if apart := named ^ set(places.values()):
        message = f"docs/zensical.toml and the pages differ: {', '.join(sorted(apart))}"
        raise BrokenGuideError(message)
    pages = folder / "pages"
    for page, place in places.items():
        target = pages / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_staged(page, place, places, root), encoding="utf-8")
    shutil.copytree(root / "docs" / "pictures", pages / "pictures")
    shutil.copy(root / "docs" / "guide.css", pages / "guide.css")


def _staged(page: Path, place: str, places: dict[Path, str], root: Path) -> str:
    text = _RUN_BY.sub(r"\1", page.read_text(encoding="utf-8"))
    if place == EQUATIONS:
        text = _BLOCK.sub(lambda block: displayed(block[1]), text)

    def moved(link: re.Match[str]) -> str:
        image, words, target = link.groups()
        address, hash_, anchor = target.partition("#")
        if not address or "://" in address or address.startswith("mailto:"):
            return link[0]
        file = (page.parent / address).resolve()
        if not file.exists():
            message = f"{page.relative_to(root)} links to {target}, which is not there"
            raise BrokenGuideError(message)
        name = file.relative_to(root).as_posix()
        there = places.get(file, FRONT.get(name))
        if image or file.parent.name == "pictures":
            there = name.removeprefix("docs/")
        if name in SERVED:
            return f"[{words}]({SERVED[name]})"
        if there is None:  # a file of the source: named, for the guide does not have it
            return words if "`" in words else f"{words} (`{name}`)"
        relative = os.path.relpath(there, Path(place).parent)
        return f"{image}[{words}]({Path(relative).as_posix()}{hash_ if there not in FRONT.values() else ''}{anchor})"

    parts = _FENCE.split(text)
    return "".join(part if index % 2 else _LINK.sub(moved, part) for index, part in enumerate(parts))


def build(target: Path = BUILT, root: Path = ROOT) -> None:
    """Build the guide into a folder, which is replaced.

    Raises
    ------
    BrokenGuideError
        When a page, a link or an anchor is not there.
    """
    with tempfile.TemporaryDirectory(prefix="surebox-guide-") as name:
        folder = Path(name)
        stage(folder, root)
        command = [Path(sys.executable).parent / "zensical", "build", "--strict", "--clean"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            message = _ESCAPE.sub("", (done.stdout + done.stderr).split("Traceback")[0])
            raise BrokenGuideError(message)
        for page in (folder / "site").rglob("*.html"):
            page.write_text(_finished(page, folder / "site"), encoding="utf-8")
        for unused in ("404.html", "sitemap.xml", "objects.inv"):
            (folder / "site" / unused).unlink(missing_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder / "site", target)


def _finished(page: Path, site: Path) -> str:
    """Return a page with its equations as MathML and its scripts as files."""

    def as_file(script: re.Match[str]) -> str:
        name = f"assets/javascripts/page-{hashlib.sha256(script[1].encode()).hexdigest()[:12]}.js"
        (site / name).write_text(script[1], encoding="utf-8")
        return f'<script src="{os.path.relpath(site / name, page.parent)}"></script>'

    up = os.path.relpath(site.parent, page.parent)
    text = page.read_text(encoding="utf-8").replace(f'"{SERVICE}', f'"{up}/')
    text = _FORMULA.sub(lambda formula: rendered(html.unescape(formula[2]), block=formula[1] == "div"), text)
    # A wide table scrolls sideways: it takes the focus, so that the keyboard can scroll it.
    return _SCRIPT.sub(as_file, text.replace("<table>", '<table tabindex="0">'))


if __name__ == "__main__":
    try:
        build()
    except BrokenGuideError as error:
        sys.exit(str(error))
