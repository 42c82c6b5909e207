"""What sealing costs: 100 MB into a folder and out of it, in parts as the API streams them, with and without a key.

    PYTHONPATH=. python benchmarks/sealing.py

Each figure is the least of some runs, in milliseconds of the clock and of the processor.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import SecretStr

from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.protocol import CHUNK_BYTES, Storage
from benchmarks.recorded import as_table, printed, record

COMMAND = "PYTHONPATH=. python benchmarks/sealing.py"
MEGABYTES = 100
RUNS = 5


def main() -> None:
    block = os.urandom(CHUNK_BYTES)
    rows = [printed("storage", "upload, ms (CPU ms)", "download", "1 kB of it")]
    with tempfile.TemporaryDirectory() as folder:
        for name, key in (("as it is", ""), ("sealed", "k" * 32)):
            settings = Settings(storage_url=f"file:{Path(folder, name[:2])}", storage_key=SecretStr(key))
            storage = open_storage(settings)
            written = least(lambda storage=storage: write(storage, block))
            read = least(lambda storage=storage: sum(map(len, storage.chunks("staging/a"))))
            ranged = least(lambda storage=storage: list(storage.chunks("staging/a", start=50_000_000, end=50_001_000)))
            rows.append(printed(name, written, read, ranged))
    record("sealing", COMMAND, {"megabytes": MEGABYTES, "runs": RUNS, "table": as_table(rows)})


def write(storage: Storage, block: bytes) -> None:
    with storage.writer("staging/a") as writer:
        for _ in range(MEGABYTES):
            writer.write(block)


def least(work: Callable[[], object]) -> str:
    clock, processor = [], []
    for _ in range(RUNS):
        began, spent = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - spent)
    return f"{1000 * min(clock):.1f} ({1000 * min(processor):.1f})"


if __name__ == "__main__":
    main()
