"""The service of a folder on this machine: the one that runs there, or one that is started for a block."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from surebox_client.blocking import Surebox


@contextmanager
def local(
    folder: str | Path = ".surebox", *, idle_minutes: float | None = None, say: Callable[[str], None] | None = None
) -> Iterator[Surebox]:
    """Use the service that runs on a data folder, or start one.

    Parameters
    ----------
    folder : the data folder of `surebox serve`; it is made where there is none.
    idle_minutes : a service that is started here stays, and ends once it was not used for so long; None: it ends with
        the block, unless others use it by then.
    say : called with a line about what takes time.

    Raises
    ------
    surebox_client.errors.ConnectionFailedError
        The service is not installed here, or does not start.
    """
    from surebox_client.commands.folder import FolderInUseError, joined, stop

    with (
        joined(folder, say=say or (lambda _line: None), idle_minutes=idle_minutes or 10) as running,
        Surebox(running.address, key=running.key) as client,
    ):
        yield client
    if idle_minutes is None and running.started:
        with suppress(FolderInUseError):
            stop(folder)
