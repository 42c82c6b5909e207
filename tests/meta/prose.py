"""What the rules of prose are about: the documents' paragraphs, and the texts of the code."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.meta.project import ROOT, tracked

#: Words of a dialect, each as a regular expression of lower-case text. Documentation that reads well (Litestream's,
#: Presidio's) has at most 2 of each in 10,000 words.
MARKERS = {
    "asked": r"\basked\b",
    "told, tells": r"\b(?:told|tells?)\b",
    "nobody, somebody, anybody, everybody": r"\b(?:no|some|any|every)body\b",
    "whoever": r"\bwhoever\b",
    "who without a noun": (
        r"(?:^|[.:;(|] |\b(?:to|by|of|for|that|and|but) )who"
        r" (?:knows?|may|reads?|has|holds?|can|computes?|learns?|sees?|finds?|delivers?|takes?|wants?|looks?)\b"
    ),
    "stands for is": r"\bstands?\b",
    "lies for is": r"\blies?\b",
    "holds": r"\bholds?\b",
    "says": r"\bsays?\b",
    "beside": r"\bbeside\b",
    "anew, afresh": r"\b(?:anew|afresh)\b",
    "in the place of": r"\bin (?:the )?place of\b",
    "one's": r"\bone's\b",
    "what is, as a noun": r"\bwhat (?:is|was|has)\b(?![^.|]*\?)",
    "is to": r"\b(?:is|are) to\b",
}

#: Names every former word, so it has them all.
_VOCABULARY = ROOT / "docs/contributing/names.md"


def documents() -> list[Path]:
    """Markdown for readers."""
    return [path for path in tracked("*.md") if path != _VOCABULARY]


def paragraphs(path: Path) -> str:
    """Text of a document without its code and the targets of its links."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "x", text))


def sources() -> list[Path]:
    """Python of the product."""
    return [path for path in tracked("*.py") if path.relative_to(ROOT).parts[0] in ("app", "workers", "verify")]


def texts(path: Path) -> Iterator[str]:
    """Docstrings, comments and messages of a module: its strings of several words."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 2:
            yield node.value
    yield from re.findall(r"(?:^ *|  )#:? (.+)$", source, re.MULTILINE)


def reference() -> Iterator[str]:
    """Summaries and descriptions of the OpenAPI document, each once."""
    seen: set[str] = set()
    parts = [json.loads((ROOT / "openapi/openapi.json").read_text(encoding="utf-8"))]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            seen.update(part[key] for key in ("summary", "description") if isinstance(part.get(key), str))
            parts.extend(part.values())
        elif isinstance(part, list):
            parts.extend(part)
    yield from sorted(seen)


def counted(texts: Iterable[str]) -> tuple[int, Counter[str]]:
    """Words in all, and how often each marker is among them."""
    words, markers = 0, Counter[str]()
    for text in texts:
        plain = re.sub(r"`[^`]*`", "x", text.lower())
        words += len(re.findall(r"[a-z][a-z'-]*", plain))
        markers.update({name: len(re.findall(marker, plain, re.MULTILINE)) for name, marker in MARKERS.items()})
    return words, markers
