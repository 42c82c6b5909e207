"""For which processors kernels are compiled, where an image is run on another kind than the one that has built it."""

import platform
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

#: The third level of the x86-64 psABI, as the kernel names its instructions: servers have them since 2013 to 2015.
LEVEL: Final = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})
#: The same as the compiler names them; with these stated it looks at no others that the processor has.
_FEATURES: Final = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave,+sse4.2,+popcnt,+cx16"


def processor_flags() -> frozenset[str]:
    """Instructions that this processor has, as the kernel names them; none where that is not known."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    return frozenset()


def processor_settings(flags: Collection[str], *, machine: str = platform.machine()) -> dict[str, str]:
    """Return the environment in which kernels are compiled for a level that most processors have.

    Parameters
    ----------
    flags
        Instructions of this processor: one that lacks some of the level gets kernels for any processor of its kind.
    machine
        Its kind; kernels of others than x86-64 are for any of them.
    """
    if machine == "x86_64" and frozenset(flags) >= LEVEL:
        return {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": _FEATURES}
    return {"NUMBA_CPU_NAME": "generic"}
