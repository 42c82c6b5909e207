"""API keys on this machine: in files that only their owner reads, never an argument, never shown."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from surebox_client.commands.exits import UsageError
from surebox_client.commands.options import environment

_KEY: Final = re.compile(r"[\x21-\x7e]{8,500}")


def key_in(text: str, where: str) -> str:
    """The key in a text; the text itself is never repeated.

    Raises
    ------
    UsageError
        It is none.
    """
    key = text.strip()
    if not _KEY.fullmatch(key):
        raise UsageError(f"{where} contains no API key, which is one word without blanks.")
    return key


def key_of_file(path: Path) -> str:
    """The key that a file holds."""
    try:
        return key_in(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', 'it is no text')}") from None


def key_for(url: str, key_file: Path | None) -> str | None:
    """The key for an address: of the file that was named, of SUREBOX_API_KEY, of a login; None: there is none."""
    if key_file is not None:
        return key_of_file(key_file)
    given = environment("SUREBOX_API_KEY")
    if given:
        return key_in(given, "SUREBOX_API_KEY")
    return kept_key(url)


def kept_key(url: str) -> str | None:
    """The key of a login at an address; None: there is none."""
    return _logins().get(_name(url))


def logins_file() -> Path:
    """Where logins are kept."""
    return Path(environment("XDG_CONFIG_HOME") or Path.home() / ".config") / "surebox" / "logins.json"


def remember(url: str, key: str | None) -> Path:
    """Keep the key for an address, or forget it (None)."""
    path = logins_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with beside(path) as unfinished:
        unfinished.write_text(logins_with(url, key), encoding="utf-8")
    return path


def logins_with(url: str, key: str | None) -> str:
    """The text of the file of logins, with another key for an address, or with none."""
    kept = _logins()
    kept.pop(_name(url), None)
    if key is not None:
        kept[_name(url)] = key
    return json.dumps(kept)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Give an empty file that only its owner reads, and put it in the place of another one once it is written.

    Raises
    ------
    UsageError
        None can be made there, or it cannot take the other's place: then it is kept where it is.
    """
    unfinished = path.with_name(f"{path.name}.{os.urandom(8).hex()}.new")
    try:
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    try:
        yield unfinished
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    try:
        unfinished.replace(path)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be replaced: {error.strerror}. The file that belongs there: {unfinished}"
        ) from None


def secret_of(folder: Path) -> bytes:
    """The secret that a data folder keeps for the marks of its runs; the first command that needs it makes it."""
    path = folder / "marks.key"
    if not path.exists():
        unfinished = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(os.urandom(32))
        with suppress(FileExistsError):  # of commands that begin at once, one is first
            os.link(unfinished, path)
        unfinished.unlink()
    return path.read_bytes()


def _logins() -> dict[str, str]:
    try:
        kept = json.loads(logins_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise UsageError(f"{logins_file()} cannot be read. Delete it, and run `surebox login` again.") from None
    return {str(url): str(key) for url, key in kept.items()} if isinstance(kept, dict) else {}


def _name(url: str) -> str:
    return url.rstrip("/")
