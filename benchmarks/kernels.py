"""What compiling the algorithms takes, once an installation: `surebox kernels` where nothing is compiled yet.

    PYTHONPATH=. python benchmarks/kernels.py [METHOD ...] [--rounds 3] [--root another/checkout]

Each round has an environment of its own that sees the packages of this one, so kernels of neither are used or kept.
CPU seconds are those of all processes, imports included.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

from benchmarks.recorded import ROOT, as_table, printed, record

HEADS = ["method", "CPU s", "s"]
METHODS = ("boxes", "group", "uncertain", "swaps")


def compiled(method: str, root: Path) -> tuple[float, float]:
    """CPU seconds and seconds of one round."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        venv.create(folder, symlinks=True)
        purelib = sysconfig.get_path("purelib", vars={"base": made, "platbase": made})
        Path(purelib, "here.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
        settings = {"PYTHONPATH": os.pathsep.join(map(str, (root, root / "verify")))}
        hidden = ("SUREBOX_", "PYTHON", "NUMBA")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        before, began = _children(), time.monotonic()
        command = [str(folder / "bin" / "python"), "-m", "app.cli", "kernels", method]
        subprocess.run(command, cwd=root, env=ours | settings, check=True, stdout=subprocess.DEVNULL)
        return _children() - before, time.monotonic() - began


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Compile in turns, print the medians, and record those of this checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args()
    rows, root = [printed(*HEADS)], options.root.resolve()
    for method in options.methods:
        rounds = [compiled(method, root) for _ in range(options.rounds)]
        cpu, seconds = (statistics.median(one[at] for one in rounds) for at in (0, 1))
        rows.append(printed(method, f"{cpu:.1f}", f"{seconds:.1f}"))
    if root == ROOT and tuple(options.methods) == METHODS:
        record(
            "kernels", "PYTHONPATH=. python benchmarks/kernels.py", {"table": as_table(rows), "rounds": options.rounds}
        )


if __name__ == "__main__":
    main()
