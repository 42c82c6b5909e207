"""Formulas in a release for spreadsheets: no cell runs, with whatever separator the file is opened."""

import csv
import io
import random
import re
import unicodedata
from collections.abc import Callable

import httpx
import pytest

from tests.methods.asking import anonymization, succeed, upload

#: Signs in whatever form a program may read them: full-width, small, raised, lowered, Hebrew.
SIGNS = "".join(c for c in map(chr, range(0x20, 0x10000)) if unicodedata.normalize("NFKC", c) in set("=+-@"))
PIECES = [
    *SIGNS,
    ";",
    ",",
    "\t",
    "\n",
    "\r",
    '"',
    " ",
    "\N{NO-BREAK SPACE}",
    "\ufeff",
    "\u200b",
    "|",
    "'",
    "a",
    "cmd(1)",
    "5",
]
HARMLESS = ["plain", "a=b", 'say "hi"', "-", "Ærø", "x + y"]


def runs(cell: str) -> bool:
    """Whether a spreadsheet runs a cell: a sign after what is not seen, and something behind it that is no number."""
    seen = cell.lstrip("".join(c for c in cell if unicodedata.category(c)[0] in "CZ"))
    if len(seen) < 2 or unicodedata.normalize("NFKC", seen[0]) not in "=+-@":
        return False
    if re.match(
        r"-[0-9.]+(e-?[0-9]+)?[,;\t]", seen
    ):  # a number below zero and the next column: no formula is written so
        return False
    try:
        float(seen)
    except ValueError:
        return True
    return False


def opened(text: str, separator: str) -> list[str]:
    """The cells of a file as a spreadsheet of a language with this separator has them."""
    return [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for cell in row]


def texts(scale: int) -> list[str]:
    draw = random.Random(11)
    made = ["".join(draw.choices(PIECES, k=draw.randrange(2, 7))) for _ in range(300 * scale)]
    return [*HARMLESS, "a;=cmd|1!A0", "\n=1+1", "\t@x", "\N{FULLWIDTH EQUALS SIGN}1+1", '";=1+1', '","=1+1', *made]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_runs_whatever_separates_cells(
    client: httpx.Client, delimiter: str, scale: int, figures: Callable[..., None]
) -> None:
    words = texts(scale)
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([["x", "=y", "word"], *([i % 9, i * 1.5 - 200, word] for i, word in enumerate(words))])
    dataset = upload(client, file.getvalue(), trim="false")
    spec = anonymization("condensation", dataset["id"], ["x", "=y"], k=2, keep=["word"])
    job = succeed(
        client, spec | {"formats": ["csv", "csv.excel"], "delimiter": delimiter, "accept_findings": ["composition"]}
    )
    assert job["spec"]["delimiter"] == delimiter
    answers = {
        name: client.get(f"/v1/releases/{job['release_id']}/data", params={"format": name})
        for name in ("csv", "csv.excel")
    }
    assert answers["csv.excel"].content.startswith(b"\xef\xbb\xbf")
    plain, disarmed = (answers[name].content.decode("utf-8-sig") for name in ("csv", "csv.excel"))
    in_plain = [sum(map(runs, opened(plain, separator))) for separator in ",;\t"]
    assert min(in_plain) > 20, "the attack works on a plain file"
    for separator in ",;\t|":
        assert not [cell for cell in opened(disarmed, separator) if runs(cell)]
    figures(cells_that_run_in_plain_csv=max(in_plain), cells_that_run_in_csv_excel=0)
    rows = list(csv.reader(io.StringIO(disarmed, newline=""), delimiter=delimiter))
    assert rows[0] == ["x", "'=y", "word"]
    shown = [row[2] for row in rows[1:]]
    assert set(HARMLESS) <= set(shown), "other texts stay as they are"
    assert all(cell.startswith("'") for cell in shown if runs(cell.removeprefix("'")))
    mark = "," if delimiter == ";" else "."
    numbers = [float(row[1].replace(mark, ".")) for row in rows[1:]]
    assert sorted(numbers) == sorted(float(row[1]) for row in list(csv.reader(io.StringIO(plain, newline="")))[1:])
    assert min(numbers) < 0, "numbers below zero stay numbers"
