"""How a worker process is set up."""

import os
import stat
import sys
from pathlib import Path

import psutil
import pytest

from app.embedded.worker import kernel_cache, thread_settings
from app.errors import CannotStartError
from app.processes.cores import threads_each, usable_cores
from app.settings import Settings


@pytest.mark.parametrize(("concurrency", "cores", "threads"), [(1, 8, "8"), (2, 2, "2"), (3, 8, "4"), (4, 2, "1")])
def test_processes_share_the_cores_and_blas_keeps_to_one(concurrency: int, cores: int, threads: str) -> None:
    settings = thread_settings(each=threads_each(queue="batch", concurrency=concurrency, cores=cores))
    assert settings["NUMBA_NUM_THREADS"] == settings["POLARS_MAX_THREADS"] == threads
    assert settings["OPENBLAS_NUM_THREADS"] == settings["OMP_NUM_THREADS"] == "1"


def test_an_upload_that_is_alone_has_all_cores() -> None:
    assert threads_each(queue="interactive", concurrency=2, cores=8) == 8


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux binds processes to cores")
def test_a_process_bound_to_one_core_counts_one() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert 1 <= usable_cores() <= (psutil.cpu_count() or 1)


def test_compiled_kernels_lie_in_a_folder_of_our_own(tmp_path: Path) -> None:
    folder = kernel_cache(Settings(staging_dir=tmp_path / "scratch"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert kernel_cache(Settings(staging_dir=tmp_path / "scratch")) == folder


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    with pytest.raises(CannotStartError, match="can be written by others"):
        kernel_cache(Settings(staging_dir=tmp_path))
