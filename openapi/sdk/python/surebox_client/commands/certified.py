"""Parameters of a release as the certificate next to its file states them; `surebox verify` is what checks it."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any


def certified_parameters(path: Path) -> dict[str, Any]:
    """Return the parameters of the release that a file is of; none where no certificate next to it states the file."""
    try:
        envelope = json.loads(path.with_name(f"{path.name}.dsse.json").read_text(encoding="utf-8"))
        statement = json.loads(base64.b64decode(envelope["payload"]))
        with path.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
        if digest not in {each["digest"]["sha256"] for each in statement["subject"]}:
            return {}
        return dict(statement["predicate"]["parameters"])
    except (OSError, ValueError, LookupError, TypeError):
        return {}
