"""How several processes share the tests of a session (pytest-xdist): folder by folder, those of methods by module."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

#: Half of all work: each process starts a service for it, and takes modules as long as there are some.
_SHARED: Final = "tests/methods"


class ByFolder(LoadScopeScheduling):
    """Tests of a folder run in one process: they share a running service, and the kernels that the first compiles."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, _ = nodeid.partition("::")
        folder = path.rpartition("/")[0]
        return path if folder == _SHARED else folder
