"""Imports in bulk."""

import gc
from collections.abc import Callable, Iterable
from importlib import import_module
from threading import Thread


def import_all(names: Iterable[str]) -> None:
    """Import modules: what they make stays, so nothing is gained by looking through it for garbage meanwhile.

    That would cost a sixth of the time.
    """
    gc.disable()
    try:
        for name in names:
            import_module(name)
    finally:
        gc.enable()


class Importing(Thread):
    """Imports beside what else a process does; who needs them calls `finish`.

    Parameters
    ----------
    imports
        Imports them.
    """

    def __init__(self, imports: Callable[[], None]) -> None:
        super().__init__(name="importing")
        self._imports = imports
        self._error: BaseException | None = None

    def run(self) -> None:
        """Import; an error is kept for `finish`."""
        try:
            self._imports()
        except BaseException as error:  # noqa: BLE001 - `finish` raises it
            self._error = error

    def finish(self) -> None:
        """Wait for the end of the thread: a fork needs one.

        Raises
        ------
        BaseException
            What the imports have raised.
        """
        self.join()
        if self._error is not None:
            raise self._error
