"""A release of boxes made by hand, with a certificate about it signed by keys of our own."""

import base64
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.certificates.signing import PrivateKey, envelope, jwk
from surebox_verify.certificate import exact

MADE_AT = 1_780_000_000  # seconds since 1970, when keys begin to sign
ISSUED_AT = "2026-06-01T00:00:00Z"  # a few days later
BOUNDS = ["age_lo", "age_hi", "hours_lo", "hours_hi"]


def rows(boxes: int = 12, *, seed: int = 7) -> pl.DataFrame:
    """A release: half-open boxes of some records each, no two of which overlap, rows in random order."""
    draw = np.random.default_rng(seed)
    low = draw.uniform(17, 80, (boxes, 2)).round(3)
    low[:, 0] = draw.permutation(17.0 + 10.0 * np.arange(boxes)) + draw.uniform(0, 1, boxes).round(3)
    high = low + draw.uniform(0.5, 9, (boxes, 2)).round(3)
    of_row = np.repeat(np.arange(boxes), draw.integers(3, 6, boxes))
    draw.shuffle(of_row)
    ends = {"age_lo": low[:, 0], "age_hi": high[:, 0], "hours_lo": low[:, 1], "hours_hi": high[:, 1]}
    return pl.DataFrame({"box": of_row + 1} | {name: values[of_row] for name, values in ends.items()})


def means(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Ranges of both means in closed form, as numpy has them."""
    statistics = []
    for name in ("age", "hours"):
        low, high = float(frame[f"{name}_lo"].mean()), float(frame[f"{name}_hi"].mean())  # type: ignore[arg-type]
        pair = [np.nextafter(low, -np.inf).item(), np.nextafter(high, np.inf).item()]
        statistics.append(
            {"kind": "mean", "of": [name], "weight": 1.0, "ddof": None, "guaranteed": pair, "attained": pair}
        )
    return statistics


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


@dataclass
class Issuer:
    """A service as its readers see it: keys, and what it signs."""

    keys: list[PrivateKey]

    @classmethod
    def new(cls, count: int = 1) -> "Issuer":
        return cls([PrivateKey(Ed25519PrivateKey.generate()) for _ in range(count)])

    @property
    def ids(self) -> list[str]:
        return [jwk(key)["kid"] for key in self.keys]

    def key_set(self, *, also: dict[int, dict[str, Any]] | None = None) -> bytes:
        """The key set; `also` says more of the key at a place."""
        listed = [jwk(key) | {"iat": MADE_AT} | (also or {}).get(i, {}) for i, key in enumerate(self.keys)]
        return json.dumps({"keys": listed}).encode()

    def certify(self, files: dict[str, bytes], statistics: list[dict[str, Any]], **more: Any) -> bytes:
        """An envelope about files."""
        body = statement(files, statistics)
        body["predicate"] |= more
        return self.sign(body)

    def sign(self, body: Any, payload_type: str = "application/vnd.in-toto+json") -> bytes:
        return envelope(self.keys, payload_type=payload_type, payload=rfc8785.dumps(body), signing=self.ids)

    def revoke(self, *certificates: bytes, keys: Sequence[str] = ()) -> bytes:
        """A list of revocations."""
        digests = [hashlib.sha256(base64.b64decode(json.loads(each)["payload"])).hexdigest() for each in certificates]
        revoked = [{"certificate": each, "revoked_at": ISSUED_AT} for each in digests]
        lost = [{"key": each, "revoked_at": ISSUED_AT} for each in keys]
        body = {"issued_at": ISSUED_AT, "revoked": revoked, "revoked_keys": lost}
        return self.sign(body, "application/vnd.surebox.revocations+json")


def signed_statistics(body: dict[str, Any]) -> dict[str, Any]:
    """A statement whose digest of the statistics is that of those it has."""
    predicate = body["predicate"]
    digest = digest_of(predicate["parameters"].get("method"), predicate["statistics"])
    for each in body["subject"]:
        if each["name"] == "statistics.json":
            each["digest"]["sha256"] = digest
    return body


def digest_of(method: Any, statistics: list[dict[str, Any]]) -> str:
    """SHA-256 of `statistics.json`."""
    return hashlib.sha256(rfc8785.dumps(exact({"method": method, "statistics": statistics}))).hexdigest()


def statement(files: dict[str, bytes], statistics: list[dict[str, Any]]) -> dict[str, Any]:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    digests["statistics.json"] = digest_of("boxes", statistics)
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "predicateType": "urn:surebox:certificate:3",
        "predicate": {
            "issued_at": ISSUED_AT,
            "release": {"id": "rel_made", "columns": [{"name": name, "type": "number"} for name in BOUNDS]},
            "parameters": {"method": "boxes", "quasi_identifiers": ["age", "hours"], "rare_records": "keep"},
            "statistics": statistics,
            "chain": {"previous": None},
        },
    }
