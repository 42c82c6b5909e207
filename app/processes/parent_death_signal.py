"""Ties a server to the process that started it, then becomes that server.

Run as a script (`python -I -S` this file `--parent PID --signal N [--as UID:GID --by userns|setuid] [--wait FD] --
PROGRAM …`):
the kernel sends the program the signal when its parent dies (Linux), and where the parent is root the program runs as
someone else, which Postgres insists on. Only the standard library is used: this process starts in 15 ms.

With `userns` the program lives in a user namespace in which the real root is shown as another user without rights: it
still owns the files of root, so data and program may be under a folder with mode 0700. With `setuid` it really is
another user and needs folders which that user can reach.
"""

import argparse
import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def enter_user_namespace(uid: int, gid: int) -> None:
    """Move this process into a user namespace in which it is `uid` and `gid`."""
    real_uid, real_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWUSER) was refused")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {real_uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid} {real_gid} 1", encoding="ascii")


def become(uid: int, gid: int) -> None:
    """Drop root for good."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with(parent: int, signal_number: int) -> None:
    """Ask the kernel for a signal when the parent (strictly: the thread that forked us) dies; Linux only."""
    if not sys.platform.startswith("linux"):
        return
    # After the change of identity, which would clear it; it survives the exec.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        # The parent died before the kernel was requested.
        sys.exit(1)


def wait_for(descriptor: int) -> None:
    """Wait until the parent lets us go on, by a byte; it is dead where the pipe ends without one."""
    if os.read(descriptor, 1) == b"":
        sys.exit(1)
    os.close(descriptor)


def main() -> None:
    """Parse the arguments, tie, exec."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--signal", type=int, required=True)
    parser.add_argument("--as", dest="identity", default=None)
    parser.add_argument("--by", choices=("userns", "setuid"), default="userns")
    parser.add_argument("--wait", type=int, default=None)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command[1:]
    if arguments.identity:
        uid, gid = (int(part) for part in arguments.identity.split(":"))
        (enter_user_namespace if arguments.by == "userns" else become)(uid, gid)
    die_with(arguments.parent, arguments.signal)
    if arguments.wait is not None:
        wait_for(arguments.wait)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
