"""Run every attack of `tests/attacks` at a larger scale, and print what each came to.

python benchmarks/attacks.py [SCALE] [pytest's arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_SCALE: Final = "20"


def main() -> int:
    """Run the attacks; what pytest returns."""
    scale, *arguments = sys.argv[1:] or [_SCALE]
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "figures.jsonl"
        noted.touch()
        environment = {**os.environ, "SUREBOX_ATTACK_SCALE": scale, "SUREBOX_ATTACK_FIGURES": str(noted)}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/attacks", *arguments]
        status = subprocess.run(command, cwd=_ROOT, env=environment, check=False).returncode
        for line in noted.read_text(encoding="utf-8").splitlines():
            figures = json.loads(line)
            print(figures.pop("attack").removeprefix("tests/attacks/"))
            for name, value in figures.items():
                print(f"    {name.replace('_', ' '):40} {value if isinstance(value, str) else f'{value:g}'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
