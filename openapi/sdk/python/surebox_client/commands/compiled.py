"""The algorithms that this machine has yet to compile, before a first job waits for it without a word."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

#: What every command may need beside its own method: reading the file, and the audits of a release.
_ALWAYS: Final = ("ingest", "publication")
_FILE: Final = "compiled.json"


def make_ready(folder: Path, methods: Sequence[str], *, say: Callable[[str], None]) -> dict[str, Any] | None:
    """Compile what the installation lacks for these methods, saying what and about how long; looked at once a folder.

    Where only the client is installed the service sees to it by itself.

    Returns
    -------
    dict or None
        What `remember` is to keep once there is a folder; None: nothing new.
    """
    installed = _installation()
    if installed is None or not methods:
        return None
    known = _known(folder)
    before = known.get("methods", []) if known.get("installation") == installed else []
    wanted = sorted({*methods, *_ALWAYS} - set(before))
    if not wanted:
        return None
    missing = _kernels("--missing", *wanted).strip()
    if missing:
        say(missing)
        say(f"Compiled:\n{_kernels(*wanted).rstrip()}")
    return {"installation": installed, "methods": sorted({*before, *wanted})}


def _installation() -> list[str] | None:
    try:
        return [version("surebox"), sys.prefix, str(Path(sys.prefix).stat().st_ino)]
    except PackageNotFoundError:
        return None


def _known(folder: Path) -> dict[str, Any]:
    try:
        known = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def remember(folder: Path, known: dict[str, Any] | None) -> None:
    """Keep what is compiled, so that the next command does not look again."""
    if known is not None:
        (folder / _FILE).write_text(json.dumps(known), encoding="utf-8")


def _kernels(*arguments: str) -> str:
    """What `surebox kernels` says; without a word where it fails, for then the first job compiles."""
    command = [sys.executable, "-P", "-m", "surebox_client.commands", "kernels", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 else ""
