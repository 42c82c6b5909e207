"""Run every attack of `tests/attacks` at a larger scale, print what each came to, and write it to benchmarks/results.

    PYTHONPATH=.:verify python benchmarks/attacks.py [SCALE] [pytest's arguments]

The scale is how many times as many tables, draws or questions an attack tries as in `make test`. Only a run of all
attacks at the usual scale that ends well is written.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.recorded import printed, record

_ROOT: Final = Path(__file__).parents[1]
_SCALE: Final = "2"
_HEADS: Final = ["attack", "counts"]


def _row(line: str) -> list[str]:
    """An attack as its test names it, and its figures."""
    figures = json.loads(line)
    file, name = figures.pop("attack").removeprefix("tests/attacks/test_").split("::test_")
    shown = (
        f"{what.replace('_', ' ')} {value if isinstance(value, str) else f'{value:g}'}"
        for what, value in figures.items()
    )
    return printed(f"{file.removesuffix('.py')}: {name}".replace("_", " "), ", ".join(shown))


def main() -> int:
    """Run the attacks; what pytest returns."""
    scale, *arguments = sys.argv[1:] or [_SCALE]
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "figures.jsonl"
        noted.touch()
        environment = {**os.environ, "SUREBOX_ATTACK_SCALE": scale, "SUREBOX_ATTACK_FIGURES": str(noted)}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/attacks", *arguments]
        status = subprocess.run(command, cwd=_ROOT, env=environment, check=False).returncode
        rows = [_row(line) for line in noted.read_text(encoding="utf-8").splitlines()]
    if status == 0 and (scale, arguments) == (_SCALE, []):
        table = {"heads": _HEADS, "rows": rows}
        record("attacks", "PYTHONPATH=.:verify python benchmarks/attacks.py", {"scale": int(scale), "table": table})
    return status


if __name__ == "__main__":
    sys.exit(main())
