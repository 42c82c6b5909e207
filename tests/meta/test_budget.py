"""Hand-written pages have a budget of words: what grows somewhere is told once, and shorter, elsewhere."""

import re
from pathlib import Path

import pytest

from tests.meta.project import ROOT, tracked

#: Words of all pages by hand, at most.
BUDGET = 50_000

#: Words of single pages, at most.
OF_A_PAGE = {"docs/explanation/science": 10_000}

#: Pages that scripts write from the code: see the targets of the Makefile.
GENERATED = {f"docs/reference/{name}.md" for name in ("errors", "warnings", "flags", "scopes", "settings")}

#: Folders whose pages are no pages for readers of the guide, or of packages of their own.
ELSEWHERE = ("benchmarks/", "openapi/", "verify/", "workers/")


def by_hand() -> dict[str, Path]:
    """Return the pages that people write, by path."""
    pages = {str(path.relative_to(ROOT)): path for path in tracked("*.md")}
    return {name: path for name, path in pages.items() if name not in GENERATED and not name.startswith(ELSEWHERE)}


def words(text: str) -> int:
    """Count words as `wc` does, without the bibliography and the keys of figures."""
    text = text.split("\n## Bibliography\n", maxsplit=1)[0]
    return len(re.sub(r"<!--.*?-->", "", text).split())


def test_keys_of_figures_and_the_bibliography_do_not_count() -> None:
    assert words("Of <!-- real.key:.1f -->25.8<!-- --> % it is known.\n\n## Bibliography\n\n- **A 2000.** B.\n") == 6


def test_the_pages_by_hand_keep_to_their_budget() -> None:
    pages = {name: words(path.read_text(encoding="utf-8")) for name, path in by_hand().items()}
    assert len(pages) > 30
    largest = sorted(pages.items(), key=lambda page: -page[1])[:8]
    assert sum(pages.values()) <= BUDGET, f"{sum(pages.values())} words; delete second tellings. The largest: {largest}"


@pytest.mark.parametrize(("page", "most"), OF_A_PAGE.items())
def test_a_page_keeps_to_its_own_budget(page: str, most: int) -> None:
    count = words((ROOT / f"{page}.md").read_text(encoding="utf-8"))
    assert count <= most, f"{page} has {count} words; tell the second time where the first is, figures in benchmarks"
