"""A line of progress on the terminal; nothing where there is none."""

import sys
from typing import Final

_WIDTH: Final = 24


class Progress:
    """One thing that takes time.

    Parameters
    ----------
    shown : None: where standard error is a terminal.
    """

    def __init__(self, shown: bool | None = None) -> None:
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._line = ""

    def update(self, fraction: float, what: str) -> None:
        """Say how far it has come; a line that stays the same is not written again."""
        done = round(_WIDTH * min(max(fraction, 0.0), 1.0))
        line = f"[{'#' * done}{'.' * (_WIDTH - done)}] {fraction:4.0%} {what}"
        if self._shown and line != self._line:
            sys.stderr.write("\r" + line.ljust(len(self._line)))
            sys.stderr.flush()
            self._line = line

    def say(self, text: str) -> None:
        """Say something in a line of its own, terminal or not."""
        self.end()
        sys.stderr.write(text + "\n")

    def end(self) -> None:
        """End the line."""
        if self._line:
            sys.stderr.write("\n")
            self._line = ""
