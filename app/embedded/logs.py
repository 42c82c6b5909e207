"""Log files that do not fill the disk."""

import os
import shutil
from pathlib import Path

MAX_BYTES = 50_000_000


def trim(folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
    """Move what a large log file holds to `<name>.1`; its writer appends and needs not be told."""
    for log in folder.glob("*.log"):
        if log.stat().st_size > max_bytes:
            shutil.copyfile(log, log.with_name(log.name + ".1"))
            log.with_name(log.name + ".1").chmod(0o600)
            os.truncate(log, 0)
