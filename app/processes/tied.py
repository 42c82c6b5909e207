"""Programs that are tied to the process that starts them."""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PARENT_DEATH_SIGNAL = Path(__file__).with_name("parent_death_signal.py")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a child is, where it must not be root: see `app.processes.parent_death_signal`."""

    uid: int
    gid: int
    by: Literal["userns", "setuid"]

    def arguments(self) -> list[str]:
        """The arguments of the script."""
        return ["--as", f"{self.uid}:{self.gid}", "--by", self.by]


def tied_to_parent(
    command: Sequence[str],
    *,
    death_signal: signal.Signals,
    identity: Identity | None = None,
    wait_for: int | None = None,
) -> list[str]:
    """Return the command line that runs `command` tied to this process, once a byte comes from a descriptor, if any."""
    return [
        *(
            sys.executable,
            "-I",
            "-S",
            str(PARENT_DEATH_SIGNAL),
            "--parent",
            str(os.getpid()),
            "--signal",
            str(int(death_signal)),
        ),
        *(identity.arguments() if identity else []),
        *([] if wait_for is None else ["--wait", str(wait_for)]),
        *("--", *command),
    ]
