"""The guide at `/guide`: built whole, shown to everybody, nothing loaded from elsewhere; without it, a page says so."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from app.api import guide
from app.main import create_app
from app.settings import Settings
from tests import patient
from tests.api.conftest import SECRET, serving
from tests.meta.project import ROOT

#: Pages to look at by width: the front, a page with a picture and code, and the one with equations.
PAGES = {1280: ("", "explanation/boxes.html"), 360: ("", "explanation/boxes.html", "explanation/science.html")}


def build(target: Path, root: Path = ROOT) -> str:
    """Build a guide; return what is said of what is wrong with it."""
    script = (
        "import sys; sys.path.insert(0, 'docs'); from pathlib import Path; import guide\n"
        "try: guide.build(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "except guide.BrokenGuideError as error: print(error)"
    )
    command = [sys.executable, "-c", script, str(target), str(root)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("guide") / "guide"
    assert build(target) == ""
    return target


@pytest.fixture(scope="module")
def service(built: Path) -> Iterator[str]:
    """The service with a guide; no request here reaches its database."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(guide, "FOLDER", built)
        app = create_app(Settings(server_secret=SecretStr(SECRET)))
    app.router.lifespan_context = type(app.router)(lifespan=None).lifespan_context
    with serving(app) as address:
        yield address


def copy_of_the_project(folder: Path) -> Path:
    root = folder / "project"
    for name in ("docs", "benchmarks", "openapi", "tests/meta", "verify", "workers/algorithms"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, root / path.name)
    return root


@pytest.mark.parametrize(
    "planted",
    [
        {"../explanation/boxes.md#nothing-of-this-name", "#not-a-heading-here"},
        {"no-such-page.md"},
        {"../../app/no_such_module.py"},
    ],
    ids=["headings", "page", "source"],
)
def test_a_link_to_nothing_fails_the_build(tmp_path: Path, planted: set[str]) -> None:
    root = copy_of_the_project(tmp_path)
    page = root / "docs/project/faq.md"
    page.write_text(page.read_text() + "".join(f"\nSee [it]({target}).\n" for target in planted), encoding="utf-8")
    said = build(tmp_path / "guide", root)
    assert all(target in said for target in planted)
    assert "faq.md" in said
    assert not (tmp_path / "guide").exists()


def test_a_page_outside_the_tree_fails_the_build(tmp_path: Path) -> None:
    root = copy_of_the_project(tmp_path)
    (root / "docs/alone.md").write_text("# Alone\n", encoding="utf-8")
    assert "alone.md" in build(tmp_path / "guide", root)


def test_no_page_loads_or_runs_what_is_not_the_guides_own(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link rel="(?:stylesheet|icon)")[^>]*?(?:src|href)="([^"]+)"', text)
        assert loaded
        assert all("//" not in address and (page.parent / address).is_file() for address in loaded), page
        assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", text), page
        assert "service.invalid" not in text


def test_every_fence_is_a_block(built: Path) -> None:
    pages = [page.read_text(encoding="utf-8") for page in built.rglob("*.html")]
    assert sum(page.count("<pre") for page in pages) > 100
    assert not any("```" in page for page in pages)


def test_equations_are_mathematics(built: Path) -> None:
    science = (built / "explanation/science.html").read_text(encoding="utf-8")
    printed = (ROOT / "docs/explanation/science").with_suffix(".md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", printed, re.MULTILINE | re.DOTALL)
    lines = sum(len(block.strip().splitlines()) for block in blocks) + printed.count("$$") // 2
    assert science.count('display="block"') == lines > 30
    assert "arithmatex" not in science
    assert science.count("∑") + science.count("&#x02211;") > 20


@pytest.mark.parametrize("width", PAGES)
def test_a_browser_shows_it_to_everybody(browser: Any, service: str, width: int) -> None:
    """Nothing is fetched from elsewhere or complained of, nothing sticks out, axe finds nothing."""
    from axe_playwright_python.sync_playwright import Axe

    for path in ["/", *(f"/guide/{page}" for page in PAGES[width])]:
        shown = browser.new_page(viewport={"width": width, "height": 900})
        urls, messages = [], []
        shown.on("request", lambda one, urls=urls: urls.append(one.url))
        shown.on("console", lambda one, messages=messages: messages.append(one.text))
        shown.goto(f"{service}{path}")
        shown.wait_for_load_state("networkidle")
        assert [url for url in urls if not url.startswith((f"{service}/", "data:"))] == []
        assert messages == [], path
        assert shown.evaluate("document.documentElement.scrollWidth") <= width, path
        violations = Axe().run(shown).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == [], path
        shown.close()


def test_the_keyboard_alone_searches_and_reads(browser: Any, service: str) -> None:
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    messages: list[str] = []
    shown.on("console", lambda one: messages.append(one.text))
    shown.goto(f"{service}/guide/")
    shown.wait_for_load_state("networkidle")
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.tagName") == "A", "the first stop is a link"
    shown.keyboard.press("Control+k")
    shown.keyboard.type("winsorized", delay=20)
    shown.wait_for_function("document.body.innerText.length > 0")
    shown.get_by_role("link", name=re.compile("science", re.IGNORECASE)).first.wait_for()
    shown.keyboard.press("Enter")
    shown.wait_for_url(re.compile(r"/guide/.+\.html"))
    of_focus = "Autofocus processing was blocked"  # at an address with a fragment the browser notes it, or not
    assert [one for one in messages if not one.startswith(of_focus)] == []


def test_addresses_of_the_guide(service: str) -> None:
    with patient.Client(base_url=service) as client:
        first = client.get("/guide")
        assert (first.status_code, first.headers["location"]) == (307, "/guide/")
        page = client.get("/guide/")
        policies = page.headers.get_list("content-security-policy")
        assert len(policies) == 1
        assert "default-src 'none'" in policies[0]
        assert "unsafe" not in policies[0]
        assert 'href="../docs"' in page.text
        assert 'href="/guide"' in client.get("/docs").text
        assert client.get("/").json()["guide"] == "/guide"
        for missing in ("/guide/nothing.html", "/guide/explanation/", "/guide/%2e%2e/main.py", "/guide/a%00b"):
            absent = client.get(missing)
            assert absent.status_code == httpx.codes.NOT_FOUND
            assert "default-src 'none'" in absent.headers["content-security-policy"]
        assert client.put("/guide/").status_code == httpx.codes.METHOD_NOT_ALLOWED


def test_an_installation_without_the_guide_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "FOLDER", tmp_path / "nothing")
    app = create_app(Settings(server_secret=SecretStr(SECRET)))
    app.router.lifespan_context = type(app.router)(lifespan=None).lifespan_context
    with serving(app) as address, patient.Client(base_url=address) as client:
        for path in ("/guide", "/guide/", "/guide/explanation/boxes.html"):
            page = client.get(path)
            assert page.status_code == httpx.codes.NOT_FOUND
            assert page.headers["content-type"].startswith("text/html")
            assert "The guide is not installed" in page.text
            assert 'href="/docs"' in page.text
