"""The extra `ranges`: packages that computing ranges again needs, and the message where they are not installed.

Without them signatures, digests, timestamps and revocations are checked.
"""

from typing import Final

_MODULES: Final = ("llvmlite", "numba", "numpy", "pyarrow")
INSTALL: Final = "pip install 'surebox-verify[ranges]' from your index"


def is_lacking(error: ModuleNotFoundError) -> bool:
    """Whether an import failed for want of the extra; another module that is missing is a fault of the installation."""
    return (error.name or "").partition(".")[0] in _MODULES
