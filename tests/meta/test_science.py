"""What code and docs cite of docs/explanation/science.md is there, and so are the modules that docstrings name."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.meta.project import ROOT, tracked

PAGE = ROOT / "docs/explanation/science.md"
EQUATIONS = ROOT / "workers/algorithms/README.md"
BOOK, BIBLIOGRAPHY = PAGE.read_text().split("\n## Bibliography\n")
TITLES = r'"[^"]+"(?:(?:,| and) "[^"]+")*'
PAPERS = {"XF", "XK", "TC", "AG"}
TAG = r"\b(XF|XK|TC|AG),? (?:slides?|eqs?\.|equations?)? ?((?:\d+(?:,| and| to|-)? ?)+)"
NAME = r"(?:El )?[A-Z][A-Za-z]*[a-z](?:-[A-Z][a-z]+)*"
CITED = re.compile(rf"\b({NAME})((?:,? (?:and )?{NAME})*)(?: et al\.)?,? \(?((?:19|20)\d\d)\b")
NOT_AUTHORS = ("American Community Survey", "Community Survey")
WITH_DOCSTRINGS = [path for path in tracked("*.py") if path.relative_to(ROOT).parts[0] in {"app", "workers", "verify"}]
TEXTS = [path for path in tracked("*.py", "*.md") if path not in {PAGE, Path(__file__)}]


@cache
def sections() -> dict[int, set[str]]:
    """The titles of the parts of each numbered section."""
    titles: dict[int, set[str]] = defaultdict(set)
    number = 0
    for line in BOOK.splitlines():
        if line.startswith("## "):
            number = int(line[3]) if line[3].isdigit() else 0
        elif line.startswith("### "):
            titles[number].add(line[4:])
    return dict(titles)


@cache
def anchors() -> set[str]:
    """Where links into the page may lead."""
    headings = re.findall(r"^#+ (.+)$", PAGE.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def entries() -> set[tuple[str, str]]:
    """First author and year of each entry of the bibliography."""
    keys = re.findall(r"^- \*\*(?:[A-Z]{2}: )?(.+?)\.?\*\*", BIBLIOGRAPHY, re.MULTILINE)
    return {(m[1], m[2]) for key in keys if (m := re.match(rf"({NAME}).*? (\d{{4}})$", key))}


def flat(text: str) -> str:
    return re.sub(r"\s*\n\s*(?:#:? )?", " ", text)


def wrong_citations(text: str) -> list[str]:
    """Citations of the page that have another form, or name what it does not have."""
    line, wrong, parts = flat(text), [], sections()
    for m in re.finditer(r"science\.md", line):
        after = line[m.end() :]
        if link := re.match(r"#([\w-]+)\)", after):
            wrong += [f"#{link[1]}"] * (link[1] not in anchors())
        elif not re.match(rf"\)| section \d, {TITLES}", after):
            wrong.append(line[m.start() : m.end() + 60])
    for number, titles in re.findall(rf"[Ss]ection (\d+), ({TITLES})", line):
        wrong += [
            f"{number}: {title}"
            for title in re.findall(r'"([^"]+)"', titles)
            if title not in parts.get(int(number), ())
        ]
    return wrong


def tags(text: str) -> set[tuple[str, int]]:
    """Equations and slides of the four papers that a text names, each of a span of them."""
    named = set()
    for paper, numbers in re.findall(TAG, flat(text)):
        for first, last in re.findall(r"(\d+)(?:(?:-| to )(\d+))?", numbers):
            named |= {(paper, number) for number in range(int(first), int(last or first) + 1)}
    return named


@cache
def listed_tags() -> set[tuple[str, int]]:
    return tags(EQUATIONS.read_text().split("\n## Tags\n")[1].split("\n## ")[0])


def wrong_tags(text: str) -> list[str]:
    """Tags that the page leads nowhere."""
    return [f"{paper} {number}" for paper, number in sorted(tags(text) - listed_tags())]


def unlisted(text: str) -> list[str]:
    """Citations of authors and year that have no entry in the bibliography."""
    known = entries()
    return [
        m[0]
        for m in CITED.finditer(flat(text))
        if (m[1], m[3]) not in known and not m[0].startswith(NOT_AUTHORS) and not m[0].startswith("RFC")
    ]


@cache
def docstrings(path: Path) -> str:
    return "\n\n".join(re.findall(r'"""(.*?)"""', path.read_text(), re.DOTALL))


def comments(path: Path) -> str:
    return "\n".join(re.findall(r"#.*", path.read_text()))


def address(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts[parts[0] == "verify" :] if part != "__init__")


MODULES = {address(path): path for path in WITH_DOCSTRINGS}
PACKAGES = {part for module in MODULES for part in module.split(".")[:-1]}


@cache
def ending_with(name: str) -> tuple[Path, ...]:
    return tuple(path for module, path in MODULES.items() if f".{module}".endswith(f".{name}"))


@cache
def names(path: Path) -> frozenset[str]:
    """Names that a module, or a class in it, has."""
    bodies = [ast.parse(path.read_text()).body]
    bodies += [node.body for node in bodies[0] if isinstance(node, ast.ClassDef)]
    defined: set[str] = set()
    for node in (node for body in bodies for node in body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            defined.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        defined |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(defined)


def is_there(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    return bool(ending_with(name)) or any(attribute in names(path) for path in ending_with(module))


def wrong_modules(text: str) -> list[str]:
    """Addresses of modules and their attributes that are nowhere, and notations that are not explained there."""
    dotted = re.findall(r"(?<![\w./])([a-z_]+(?:\.[a-z_]+)+)(?![\w(/])", text)
    wrong = [
        name
        for name in dotted
        if name.split(".")[0] in PACKAGES and name.split(".")[-1] not in {"py", "md", "json"} and not is_there(name)
    ]
    for phrase in re.findall(r"[Nn]otation(?: as in|:) (.+?)(?:[.:;](?:\s|$)|, and$|$)", flat(text), re.MULTILINE):
        named = re.findall(r"`?[a-z_]+(?:\.[a-z_]+)+`?|`[a-z_]+`", phrase.split(" -----")[0])
        for name in named or [phrase]:
            explained = [path for path in ending_with(name) if "Notation" in docstrings(path)]
            wrong += [f"Notation: {name}"] * (not explained)
    return wrong


def test_every_section_and_part_that_is_cited_exists() -> None:
    wrong = {
        str(path.relative_to(ROOT)): wrong_here for path in TEXTS if (wrong_here := wrong_citations(path.read_text()))
    }
    assert not wrong


def test_links_within_the_page_lead_to_its_headings() -> None:
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE.read_text())) <= anchors()


def test_the_page_has_eight_sections_that_are_all_cited() -> None:
    cited = {
        int(number) for path in TEXTS for number in re.findall(r"science\.md section (\d)", flat(path.read_text()))
    }
    assert set(range(1, 8)) <= cited <= set(range(1, 9)) == set(sections()) - {0}


def test_every_tag_of_an_equation_leads_to_a_part_of_the_page() -> None:
    assert set(re.findall(r"^- \*\*([A-Z]{2}): ", BIBLIOGRAPHY, re.MULTILINE)) == PAPERS
    wrong = {str(path.relative_to(ROOT)): wrong_here for path in TEXTS if (wrong_here := wrong_tags(path.read_text()))}
    assert not wrong


def test_every_author_that_is_cited_is_in_the_bibliography() -> None:
    wrong = {path: unlisted(docstrings(path) + "\n\n" + comments(path)) for path in WITH_DOCSTRINGS}
    wrong[PAGE] = unlisted(BOOK)
    wrong[EQUATIONS] = unlisted(EQUATIONS.read_text())
    assert not {str(path): wrong_here for path, wrong_here in wrong.items() if wrong_here}


def test_every_entry_of_the_bibliography_is_cited() -> None:
    texts = [BOOK, *(path.read_text() for path in TEXTS)]
    assert entries() <= {(m[1], m[3]) for text in texts for m in CITED.finditer(flat(text))}


def test_modules_that_docstrings_name_exist() -> None:
    wrong = {str(path.relative_to(ROOT)): wrong_modules(docstrings(path)) for path in WITH_DOCSTRINGS}
    assert not {path: wrong_here for path, wrong_here in wrong.items() if wrong_here}


@pytest.mark.parametrize(
    ("judge", "planted"),
    [
        (wrong_citations, 'as in science.md section 9, "Swaps"'),
        (wrong_citations, 'as in science.md section 2,\n# "Placing persons"'),
        (wrong_citations, 'science.md section 1, "Cells" and section 5, "Cells"'),
        (wrong_citations, "as science.md 5 says"),
        (wrong_citations, "see [there](explanation/science.md#nowhere)"),
        (wrong_tags, "as XK slides 15 and 16 have it"),
        (wrong_tags, "fitness (TC 13, 29)"),
        (unlisted, "after Nobody, Somebody 1999"),
        (unlisted, "after Aggarwal 2004b, and Wong et al. 2009"),
        (wrong_modules, "as groups.patterns does"),
        (wrong_modules, "see `partition.gain.forecast`"),
        (wrong_modules, "Notation as in boxes.kernels, and\n--------"),
        (wrong_modules, "Notation as in `memetic_search`."),
        (wrong_modules, "Notation as in uncertain.linkage."),
    ],
)
def test_what_is_wrong_is_noticed(judge, planted: str) -> None:
    assert judge(planted)


@pytest.mark.parametrize(
    ("judge", "right"),
    [
        (wrong_citations, 'science.md section 5, "Cuts" and "Influence"; section 1,\n    "Cells"'),
        (wrong_citations, "see [there](../explanation/science.md#placing-persons) and [it](science.md)"),
        (wrong_tags, "XF slides 15 and 16, TC equations 25 to 28, AG eqs. 4-16"),
        (unlisted, "Machanavajjhala et al. 2007; Aggarwal, Yu 2004; El Emam 2013"),
        (
            wrong_modules,
            "Notation as in partition.arrays, partition.gain (index, span) and constraints.holding (allowed).",
        ),
    ],
)
def test_what_is_right_is_left_alone(judge, right: str) -> None:
    assert not judge(right)
