"""Ends what a killed launcher left behind, where the kernel's parent-death signal does not reach.

The signal is sent to children only (a worker's own children are not), and only Linux has it. This process is started
with the groups that are known, as `<process group>:<signal>`, and reads lines `+ <process group> <signal>` and
`- <process group>` from the launcher; the end of the pipe means that the launcher is dead, and every group still on the
list is signalled, and killed if it does not go. Only the standard library is used.
"""

import os
import signal
import sys
import time
from contextlib import suppress

PATIENCE_SECONDS = 15.0


def exists(group: int) -> bool:
    """Return whether a process group has a member left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def send(group: int, number: int) -> None:
    """Signal a group that may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def main() -> None:
    """Keep the list until the pipe ends, then end the work on it."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups = {int(group): int(number) for group, number in (known.split(":") for known in sys.argv[1:])}
    for line in sys.stdin:
        word, *numbers = line.split()
        if word == "+":
            groups[int(numbers[0])] = int(numbers[1])
        else:
            groups.pop(int(numbers[0]), None)
    for group, number in groups.items():
        send(group, number)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and any(exists(group) for group in groups):
        time.sleep(0.05)
    for group in groups:
        send(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
