"""How several processes share the tests of a session (pytest-xdist): folder by folder."""

from xdist.scheduler import LoadScopeScheduling


class ByFolder(LoadScopeScheduling):
    """Tests of a folder run in one process: they share a running service, and the kernels that the first compiles."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, _ = nodeid.partition("::")
        return path.rpartition("/")[0]
