"""What every command begins with: the settings, the database, the packages that it needs."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from app.errors import CannotStartError

if TYPE_CHECKING:
    from app.db.session import Database
    from app.embedded.folder import DataFolder
    from app.settings import Settings

Word = TypeVar("Word", bound=StrEnum)

DEFAULT_DATA_DIR = Path(".surebox")

DataDir = Annotated[
    Path | None,
    typer.Option(
        help=f"Data folder of a running `surebox serve` (default: DATABASE_URL if set, else {DEFAULT_DATA_DIR})."
    ),
]
AnyDataDir = Annotated[
    Path | None, typer.Option(help=f"Data folder of the embedded default (default: {DEFAULT_DATA_DIR}).")
]


def say(line: str) -> None:
    """Print a line for the operator, apart from a command's output."""
    sys.stderr.write(line + "\n")


def one_of(words: type[Word], given: str) -> Word:
    """The word that was given: contracts are not loaded only to read a command line.

    Raises
    ------
    typer.BadParameter
        There is no such word.
    """
    if given not in set(words):
        raise typer.BadParameter(f"{given!r} is none of {', '.join(words)}")
    return words(given)


@contextmanager
def opened(data_dir: Path | None) -> "Iterator[tuple[Settings, Database]]":
    """Open the database of the settings, or of a data folder, whether or not a service runs on it."""
    from app.db.session import Database
    from app.embedded.folder import DataFolder

    settings = load_settings()
    of_folder = names_folder(settings, data_dir)
    with settings_of(DataFolder(data_dir or DEFAULT_DATA_DIR)) if of_folder else nullcontext(settings) as ours:
        database = Database(ours.database_url, pool_size=1)
        try:
            yield ours, database
        finally:
            database.close()


@contextmanager
def settings_of(place: "DataFolder") -> "Iterator[Settings]":
    """The settings of a data folder, whose Postgres is started where no service runs on it."""
    from app.embedded.offline import offline

    try:
        running = running_settings(place.path)
    except CannotStartError:
        if not place.postgres.exists():
            raise
        with offline(place) as ours:
            yield ours
        return
    yield running


def open_database(data_dir: Path | None) -> "tuple[Settings, Database]":
    """Open the database of the settings, or of the service that runs on a data folder."""
    from app.db.session import Database

    settings = load_settings()
    if names_folder(settings, data_dir):
        settings = running_settings(data_dir or DEFAULT_DATA_DIR)
    return settings, Database(settings.database_url, pool_size=1)


def names_folder(settings: "Settings", data_dir: Path | None) -> bool:
    """Return whether a command is about a data folder, not about the database that the settings name."""
    return data_dir is not None or "database_url" not in settings.model_fields_set


def running_settings(data_dir: Path) -> "Settings":
    """The settings of the service that runs on a data folder.

    Raises
    ------
    CannotStartError
        None does.
    """
    from pydantic import SecretStr

    from app.embedded.folder import DataFolder
    from app.settings import Settings

    running = DataFolder(data_dir).running().environment
    return Settings(
        database_url=running["DATABASE_URL"],
        storage_url=running["STORAGE_URL"],
        server_secret=SecretStr(running["SUREBOX_SERVER_SECRET"]),
        previous_server_secret=SecretStr(running["SUREBOX_PREVIOUS_SERVER_SECRET"]),
        signing_key_file=Path(running["SUREBOX_SIGNING_KEY_FILE"]),
    )


def load_settings() -> "Settings":
    """Read the settings; an invalid one is named, its value is not shown."""
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from app.settings import get_settings

    try:
        return get_settings()
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
        raise CannotStartError(f"The settings are not valid: {wrong}") from None
    except SettingsError as error:
        raise CannotStartError(f"The settings are not valid: {error}") from None


def is_external(settings: "Settings") -> bool:
    """Return whether all three addresses are given; some without the others are a mistake."""
    names = {"database_url": "DATABASE_URL", "redis_url": "REDIS_URL", "storage_url": "STORAGE_URL"}
    given = [name for field, name in names.items() if field in settings.model_fields_set]
    absent = [name for name in names.values() if name not in given]
    if given and absent:
        raise CannotStartError(
            f"{' and '.join(given)} set, but not {' and '.join(absent)}. Set all three to serve with servers of your "
            "own, or none to have them started."
        )
    return not absent


def require(*packages: str, extra: str | None = None) -> None:
    """State what to install when a package is missing."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        install = "surebox" if extra is None else f"'surebox[{extra}]'"
        raise CannotStartError(f"Not installed: {', '.join(missing)}. From your index: pip install {install}")
