"""Kernels of an image run on the processors that most servers have, and are compiled for any where they would not."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from app.processes.processor import LEVEL, processor_flags, processor_settings
from tests.drawing import seeds

SHOWN = """
import json, numba, numpy
from surebox_core.compiling import cache
total = numba.njit(lambda values: values.sum())(numpy.arange(1000.0))
print(json.dumps([str(cache.installed()), numba.config.CPU_NAME, numba.config.CPU_FEATURES, total]))
"""


@pytest.mark.parametrize("seed", seeds(12))
def test_a_processor_that_lacks_any_instruction_of_the_level_gets_kernels_for_all(seed: int) -> None:
    draw = np.random.default_rng([438, seed])
    more = {"avx512f", "sse2", "amx_tile"}
    assert processor_settings(LEVEL | more, machine="x86_64")["NUMBA_CPU_NAME"] == "x86-64-v3"
    lacking = LEVEL - {sorted(LEVEL)[int(draw.integers(len(LEVEL)))]}
    assert processor_settings(lacking | more, machine="x86_64") == {"NUMBA_CPU_NAME": "generic"}
    assert processor_settings(LEVEL, machine="aarch64") == {"NUMBA_CPU_NAME": "generic"}


def test_a_portable_kernel_runs_here_and_is_kept_apart_from_those_of_this_processor() -> None:
    places = set()
    for settings in ({}, processor_settings(processor_flags()), processor_settings(())):
        done = subprocess.run(
            [sys.executable, "-c", SHOWN], env=os.environ | settings, capture_output=True, text=True, check=True
        )
        place, name, _, total = json.loads(done.stdout)
        assert total == sum(range(1000))
        assert (name or "") == settings.get("NUMBA_CPU_NAME", "")
        places.add(place)
    assert len(places) == 3
