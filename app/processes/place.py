"""The place of a process: containers may have one host name, and the process ids of one are those of another."""

import hashlib
import socket
import uuid
from contextlib import suppress
from pathlib import Path

_NAMESPACES = ("pid", "uts")
#: Set in the addresses that Python makes up where the machine has none.
_DRAWN = 1 << 40


def here() -> str:
    """The host, and what tells this container, jail or start of the machine from others of the same host name.

    It is the same for all processes of one container, as long as that runs.
    """
    node = uuid.getnode()
    said = [] if node & _DRAWN else [str(node)]  # without a network each process draws its own
    with suppress(OSError):
        said.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        said += [str(Path("/proc/self/ns", name).readlink()) for name in _NAMESPACES]
    return f"{socket.gethostname()}-{hashlib.sha256('|'.join(said).encode()).hexdigest()[:8]}"
