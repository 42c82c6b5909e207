"""How several processes share the tests of a session (pytest-xdist): folder by folder, those of methods by module."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

#: Half of all work: each process starts a service for it, and takes modules as long as there are some.
_SHARED: Final = ("methods", "attacks")
#: Folders that take long. Three of them wait for servers more than they compute, and what they wait for has bounds: one
#: module of each at a time, next to the algorithms, which wait for nobody.
_FIRST: Final = ("embedded", "faults", "clients", "algorithms", "production", "jobs", "datasets", "verify", "frames")


class ByFolder(LoadScopeScheduling):
    """Tests of a folder run in one process: they share a running service, and do not disturb each other."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, _ = nodeid.partition("::")
        return path if path.split("/")[1] in _SHARED else path.rpartition("/")[0]


def turn(nodeid: str) -> int:
    """When a test's folder has its turn: long ones first, what is shared by module last, so that all end together."""
    folder = nodeid.split("/")[1]
    if folder in _SHARED:
        return len(_FIRST) + 1
    return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)
