"""What lies in a folder that a running service writes to and removes from."""

import os
from pathlib import Path


def stored(folder: Path) -> list[Path]:
    """All files below a folder; one that goes meanwhile may be among them or not."""
    return [Path(root, name) for root, _, names in os.walk(folder) for name in names]
