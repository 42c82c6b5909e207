"""Figures that documents quote: benchmarks write them to benchmarks/results, `make figures` fills documents by it.

In Markdown a quoted figure is between two comments, which readers do not see:
`<!-- readme.hours[0]:.2f -->21.00<!-- -->`. The first names the file, the figure in it (dots and indexes lead to a
part) and the format of Python that it is written in. A whole table is between `<!-- table name.path:.1f -->` and
`<!-- end -->`: its `heads`, and `rows` of texts and figures. One figure has one place, so two pages cannot disagree.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_QUOTED = re.compile(r"<!-- ([a-z_0-9]+)((?:\.\w+|\[\d+\])*)((?:\*\d+)?)(:[^ ]*)? -->(.*?)<!-- -->")
_TABLE = re.compile(r"<!-- table ([a-z_0-9]+)((?:\.\w+|\[\d+\])*)(:[^ ]*) -->\n(?:\|.*\n)*<!-- end -->")


def record(name: str, command: str, figures: Mapping[str, Any]) -> None:
    """Write figures with the processor, its cores, the day and the commit that they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    measured = {
        "command": command,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": _commit(),
        "figures": dict(figures),
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _commit() -> str:
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def filled(text: str) -> str:
    """A document with the figures that it quotes as they were measured last."""
    return _QUOTED.sub(_figure, _TABLE.sub(_table, text))


def _table(quoted: re.Match[str]) -> str:
    name, path, form = quoted.groups()
    table = recorded(name, path)
    lines = [table["heads"], ["---"] * len(table["heads"])]
    lines += [[each if isinstance(each, str) else format(each, form[1:]) for each in row] for row in table["rows"]]
    shown = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"<!-- table {name}{path}{form} -->\n{shown}<!-- end -->"


def printed(*cells: str) -> list[str]:
    """A row of a table, which is shown as soon as it is measured."""
    print("|", " | ".join(cells), "|", flush=True)
    return list(cells)


def as_table(printed_rows: list[list[str]]) -> dict[str, Any]:
    """Rows, of which the first has the heads, as a table that documents quote."""
    return {"heads": printed_rows[0], "rows": printed_rows[1:]}


def span(values: Sequence[float], form: str) -> str:
    """Least and largest, or one of them where they look the same."""
    return " to ".join(dict.fromkeys(format(end(values), form) for end in (min, max)))


def recorded(name: str, path: str) -> Any:
    """The figure, or the part of the figures, that a path such as `.points[0]` leads to."""
    value: Any = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    for part, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        value = value[part] if part else value[int(index)]
    return value


def _figure(quoted: re.Match[str]) -> str:
    name, path, times, form = quoted.group(1), quoted.group(2), quoted.group(3), quoted.group(4) or ":"
    value = recorded(name, path)
    value = value * int(times[1:]) if times else value
    shown = format(value, form[1:])
    return quoted.group(0).replace(f"-->{quoted.group(5)}<!-- -->", f"-->{shown}<!-- -->")


def documents() -> list[Path]:
    """Documents that quote figures."""
    pages = [ROOT / "README.md", *sorted((ROOT / "benchmarks").glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if any(each.search(page.read_text(encoding="utf-8")) for each in (_QUOTED, _TABLE))]


def main() -> None:
    """Fill the documents, or with `--check` name those that are not up to date."""
    stale = []
    for page in documents():
        text = page.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            stale.append(str(page.relative_to(ROOT)))
            if "--check" not in sys.argv:
                page.write_text(new, encoding="utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"make figures: {', '.join(stale)}")


if __name__ == "__main__":
    main()
