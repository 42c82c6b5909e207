"""What the meta-tests read: the project's own files."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = ("api", "build", "client", "demo", "dev", "site", "standalone", "uv", "verify", "verify-ranges", "worker")


def tracked(*patterns: str) -> list[Path]:
    """Files of the project that git knows or would add, of those that match one of the patterns."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted({ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()})
