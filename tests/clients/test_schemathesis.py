"""The service against its own document: schemathesis looks for answers that the document does not allow."""

import subprocess
import sys
from pathlib import Path

from tests.service import Service

SECONDS = 75


def test_the_service_keeps_to_its_document(service: Service, tmp_path: Path) -> None:
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{service.address}/openapi.json"),
        *("--header", f"Authorization: Bearer {service.key}", "--max-time", str(SECONDS)),
        *("--checks", "all", "--request-timeout", "60", "--seed", "1", "--continue-on-failure", "--no-color"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=SECONDS * 3)
    assert done.returncode == 0, done.stdout[-20_000:]
