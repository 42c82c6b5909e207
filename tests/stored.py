"""What lies in a folder that a running service writes to and removes from."""

import os
from pathlib import Path


def stored(folder: Path, ending: str = "") -> list[Path]:
    """Files below a folder, in order; one that goes meanwhile may be among them or not.

    `Path.rglob` fails where a folder goes while it looks.
    """
    paths = [Path(root, name) for root, _, names in os.walk(folder) for name in names]
    return sorted(path for path in paths if path.name.endswith(ending))
