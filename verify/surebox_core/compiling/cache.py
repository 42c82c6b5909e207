"""Where compiled kernels are: in the installation, made at its set-up, the same for every service and checkout of it.

    <environment>/share/surebox/kernels/<tools>/<module>-<sources>/

`tools` represents numba, llvmlite, numpy, Python and the processor; `sources` for the module and every module of ours
that it imports, directly or not. So nothing depends on a path, and a kernel whose callee or constant changed in another
file is another kernel: numba itself, which looks at the kernel's own file alone, would run the stale one.

An installation that cannot be written is read all the same: its kernels are copied to the folder of NUMBA_CACHE_DIR
(or the user's cache), where what it lacks is added. `kernels.kernel` has numba ask `KernelLocator`; kernels of
others, in whose program this package may be a guest, stay numba's.
"""

import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba.core import config
from numba.core.caching import _CacheLocator

INSTALLED = Path("share/surebox/kernels")
#: Packages of ours: this one, and the service's where it is installed too.
_OURS = ("app", "surebox_core", "surebox_verify", "workers")
_NAMES = rf"(?:{'|'.join(_OURS)})[\w.]*"
_IMPORT = re.compile(rf"^[ \t]*(?:from ({_NAMES}) import (\([^)]*\)|[^\n]*)|import ({_NAMES}))", re.MULTILINE)


class KernelLocator(_CacheLocator):
    """Gives numba the folder of one kernel."""

    def __init__(self, kernel: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba's warnings read it
        self._line = kernel.__code__.co_firstlineno
        self._folder = folder_of(Path(file))

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Self:
        """The locator of a kernel in a file."""
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        """Its folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """What it was made from: the folder's name states it already."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Distinguishes kernels of one name in a file."""
        return str(self._line)


@contextmanager
def located() -> Iterator[None]:
    """Kernels that are declared meanwhile are found by `KernelLocator`."""
    settings = vars(config)
    before = settings["CACHE_LOCATOR_CLASSES"]
    settings["CACHE_LOCATOR_CLASSES"] = f"{KernelLocator.__module__}.{KernelLocator.__name__}"
    try:
        yield
    finally:
        settings["CACHE_LOCATOR_CLASSES"] = before


def folder_of(file: Path) -> Path:
    """The folder of the kernels of a source file; what the installation has of them is in it."""
    module = _module(file)
    made_from = sources([module]) if module else hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    own = folder() / f"{module or file.stem}-{made_from}"
    shared = installed() / own.name
    if not own.exists() and shared.is_dir():
        _copy(shared, own)
    return own


@cache
def folder() -> Path:
    """The folder of all kernels of this processor and these tools: the installation's if it can be written."""
    shared = installed()
    if sys.prefix != sys.base_prefix and _writable(shared):
        return shared
    own = Path(getattr(config, "CACHE_DIR", "") or _of_user()) / shared.name
    own.mkdir(parents=True, exist_ok=True)
    return own


def _of_user() -> Path:
    """The user's folder of kernels; one for this process only, where there is none to write."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "surebox/kernels"
    return kept if _writable(kept) else Path(tempfile.mkdtemp(prefix="surebox-kernels-"))


@cache
def installed() -> Path:
    """Where the installation keeps them, whether it has any or not."""
    processor = getattr(config, "CPU_NAME", None) or llvmlite.binding.get_host_cpu_name()
    features = getattr(config, "CPU_FEATURES", None) or llvmlite.binding.get_host_cpu_features().flatten()
    tools = (numba.__version__, llvmlite.__version__, np.__version__, sys.version, platform.machine(), features)
    name = f"{sys.implementation.cache_tag}-{processor}-{hashlib.sha256(repr(tools).encode()).hexdigest()[:12]}"
    return Path(sys.prefix) / INSTALLED / name


def is_there(module: str) -> bool:
    """Whether there is a module of ours of this name; those of versions before may be gone."""
    return _file(module).is_file()


def sources(modules: Iterable[str]) -> str:
    """A hash of modules of ours and of all those of ours that they import."""
    seen: set[str] = set()
    open_ones = list(modules)
    while open_ones:
        module = open_ones.pop()
        if module not in seen:
            seen.add(module)
            open_ones.extend(_read(module)[1])
    digest = hashlib.sha256()
    for module in sorted(seen):
        digest.update(f"{module} {_read(module)[0]}\n".encode())
    return digest.hexdigest()[:16]


def imported(source: str) -> frozenset[str]:
    """The names of ours in the import statements of a source text: modules, and what may be modules of packages."""
    names: set[str] = set()
    for package, listed, module in _IMPORT.findall(source):
        names.add(package or module)
        words = re.sub(r"#.*", "", listed).strip("() \t\n").split(",")
        names.update(f"{package}.{each.split(' as ')[0].strip()}" for each in words if each.strip())
    return frozenset(names)


def remove_old(parent: Path, *, current: Iterable[str] = ()) -> int:
    """Remove kernels of other tools and, where current folders are named, of other sources; how many folders went."""
    kept, removed = set(current), 0
    for path in parent.iterdir() if parent.is_dir() else ():
        inner = [each for each in path.iterdir() if kept and each.name not in kept] if path == folder() else [path]
        for each in inner:
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
                removed += 1
    return removed


@cache
def _read(module: str) -> tuple[str, frozenset[str]]:
    """A module's hash, and the modules of ours that it imports."""
    source = _file(module).read_bytes()
    names = imported(source.decode())
    return hashlib.sha256(source).hexdigest(), frozenset(name for name in names if _file(name).is_file())


def _file(module: str) -> Path:
    """Where a module of ours is, or would be."""
    package, *inner = module.split(".")
    return (_roots().get(package) or Path(package)).joinpath(*inner).with_suffix(".py")


def _module(file: Path) -> str | None:
    """The name of a module of ours by its file."""
    for package, root in _roots().items():
        if file.is_relative_to(root):
            return ".".join((package, *file.relative_to(root).with_suffix("").parts))
    return None


@cache
def _roots() -> Mapping[str, Path]:
    """The folder of each package of ours that is installed; none of them is imported for that."""
    specs = {package: find_spec(package) for package in _OURS}
    return {
        package: Path(next(iter(spec.submodule_search_locations)))
        for package, spec in specs.items()
        if spec and spec.submodule_search_locations
    }


def _writable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


def _copy(source: Path, target: Path) -> None:
    """All of a folder or nothing of it, also where two processes copy at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=target.parent))
    try:
        shutil.copytree(source, part, dirs_exist_ok=True, copy_function=shutil.copyfile)
        part.chmod(0o700)
        with suppress(OSError):  # another process was faster
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
