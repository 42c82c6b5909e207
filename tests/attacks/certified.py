"""Releases of many kinds as a reader downloaded them, with certificates that can be changed and signed again."""

import base64
import io
import json
import zipfile
from typing import Any

import httpx
import numpy as np
import polars as pl

from surebox_verify.keys import read_keys
from surebox_verify.verification import Report, verify
from tests.verify.made import Issuer, signed_statistics

ISSUER = Issuer.new()
KEYS = read_keys(ISSUER.key_set())
FORMATS = ["parquet", "csv", "csv.gz", "csv.excel", "ndjson"]
NUMBER = rb'[,;: \[\-"][1-8]'
STUDY = ["none", "school", "college"]
NARROW = [
    {"kind": "mean", "of": ["dose"]},
    {"kind": "variance", "of": ["dose"]},
    {"kind": "correlation", "of": ["dose", "days"]},
    {"kind": "regression", "of": ["dose", "days"]},
    {"kind": "quantile", "of": ["days"], "p": 0.5},
]
OF_VALUES = [
    {"kind": "share", "of": ["ward"], "values": ["a", "b"]},
    {"kind": "crosstab", "of": ["ward", "study"]},
    {"kind": "domain_mean", "of": ["dose", "ward"], "values": ["a"]},
    {"kind": "mean", "of": ["dose"]},
]
OF_KEPT = [
    {"kind": "domain_mean", "of": ["dose", "sex"], "values": ["f"]},
    {"kind": "mean", "of": ["dose"]},
    {"kind": "share", "of": ["visits"], "interval": [None, 2]},
    {"kind": "domain_mean", "of": ["visits", "sex"]},
    {"kind": "share", "of": ["days"], "interval": [10, 30]},
    {"kind": "correlation", "of": ["dose", "visits"]},
]
NUMBERS: dict[str, Any] = {"quasi_identifiers": ["dose", "days"], "k": 5, "statistics": NARROW}
WARDS: dict[str, Any] = {"quasi_identifiers": ["dose", "ward", "study"], "k": 4, "statistics": OF_VALUES}
KINDS: dict[str, dict[str, Any]] = {
    "cells": NUMBERS | {"domains": {"dose": [-10, 400], "days": [0, 200]}},
    "tight": NUMBERS | {"bounds": "tight"},
    "grid": NUMBERS | {
        "bounds": "grid", "domains": {"dose": [-10, 400], "days": [0, 200]}, "value_step": {"dose": 0.5},
    },
    "rounded means": NUMBERS | {"box_means": "rounded"},
    "marked": NUMBERS | {"rare_records": "mark", "max_suppressed": 0.2, "statistics": NARROW[:3]},
    "suppressed": NUMBERS | {"rare_records": "suppress", "statistics": NARROW[:3]},
    "weighed": NUMBERS | {"rare_records": "weigh", "least_widths": "none", "statistics": NARROW[:3]},
    "weighed, declared": NUMBERS | {
        "rare_records": "weigh", "statistics": NARROW[:4], "domains": {"dose": [-10, 400], "days": [0, 200]},
    },
    "weighed, of intervals": NUMBERS | {
        "rare_records": "weigh", "statistics": [
            {"kind": "share", "of": ["days"], "interval": [10, 30]},
            {"kind": "share", "of": ["dose"], "interval": [None, 1e30]}, *NARROW[:3],
        ],
    },
    "weighed, paper": NUMBERS | {
        "rare_records": "weigh", "least_widths": "none", "objective": "paper", "statistics": NARROW[:3],
    },
    "a survey": NUMBERS | {"survey_weight_column": "design"},
    "nominal": WARDS | {"ordinal": {"study": STUDY}},
    "nominal, tight": WARDS | {"ordinal": {"study": STUDY}, "bounds": "tight"},
    "patterns": {"quasi_identifiers": ["dose", "gap"], "k": 4, "missing_policy": "pattern", "statistics": [
        {"kind": "mean", "of": ["gap"]}, {"kind": "covariance", "of": ["dose", "gap"]},
    ]},
    "sensitive": NUMBERS | {
        "keep": ["ward"], "sensitive": ["ward"], "l": 2, "t": 0.6, "alpha": 0.9, "statistics": NARROW[:1],
    },
    "kept and counted": NUMBERS | {"keep": ["sex"], "k_counts_kept": True, "statistics": NARROW[:1]},
    "of kept columns": NUMBERS | {"keep": ["sex", "visits"], "statistics": OF_KEPT},
    "of kept columns, tight": NUMBERS | {
        "keep": ["sex", "visits"], "statistics": OF_KEPT[:4], "bounds": "tight",
    },
    "of kept columns, marked": NUMBERS | {
        "keep": ["sex", "visits"], "statistics": OF_KEPT[:4], "rare_records": "mark", "max_suppressed": 0.2,
    },
    "of kept columns, a survey": NUMBERS | {
        "keep": ["sex", "visits"], "statistics": OF_KEPT[:4], "survey_weight_column": "design",
    },
    "persons": NUMBERS | {"person_column": "patient", "statistics": NARROW[:1]},
    "series": {"base": "cells", "quasi_identifiers": ["dose", "days"], "k": 12, "statistics": NARROW[:3]},
    "uncertain": {"method": "uncertain", "quasi_identifiers": ["dose", "days"], "k": 4, "keep": ["ward"]},
    "uncertain, common": {
        "method": "uncertain", "quasi_identifiers": ["dose", "days"], "k": 4, "scales": "common", "min_scale": 0.25,
    },
    "uncertain, rotated": {
        "method": "uncertain", "quasi_identifiers": ["dose", "days"], "k": 4, "scales": "per_record", "axes": "rotated",
    },
    "condensation": {"method": "condensation", "quasi_identifiers": ["dose", "days"], "k": 4, "keep": ["sex"]},
    "swaps": {
        "method": "swaps", "region_columns": ["ward"], "search": {"method": "assignment"}, "drop": ["patient"],
        "rules_model": {
            "variables": [{"column": "days", "range": [0, 100], "terms": [
                {"name": "long", "shape": "range", "points": [60, 100]},
            ]}],
            "rules": [{"terms": [1]}],
        },
        "mask": [{"region": "a", "at_most": 8}], "learn_again": False,
    },
}  # fmt: skip


def patients(seed: int, rows: int = 160) -> pl.DataFrame:
    """Records of a hospital, others for each kind: of the same ones nothing would be published twice."""
    draw = np.random.default_rng(seed)
    dose = np.minimum(draw.lognormal(3.0, 1.2, rows), 390.0).round(2)
    frame = pl.DataFrame({
        "dose": dose, "days": draw.integers(1, 90, rows), "ward": draw.choice(list("abcd"), rows),
        "study": draw.choice(STUDY, rows), "sex": draw.choice(["f", "m"], rows), "design": draw.lognormal(2, 1, rows),
        "patient": draw.integers(0, rows // 2, rows),
    })  # fmt: skip
    frame = frame.with_columns(gap=pl.when(pl.Series(draw.random(rows) < 0.8)).then(pl.Series(dose * 2 + 1)))
    return frame.with_columns(visits=pl.when(pl.Series(draw.random(rows) < 0.8)).then(draw.integers(1, 4, rows)))


class Bundle:
    """What a reader downloaded of one release."""

    def __init__(self, client: httpx.Client, release_id: str) -> None:
        answer = client.get(f"/v1/releases/{release_id}/bundle.zip")
        assert answer.status_code == httpx.codes.OK, answer.text
        self.raw = answer.content
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            self.entries = {name: archive.read(name) for name in archive.namelist()}
        self.envelope = self.entries["certificate.dsse.json"]
        self.body: dict[str, Any] = json.loads(base64.b64decode(json.loads(self.envelope)["payload"]))
        self.files = {"release.parquet": self.entries["release.parquet"]}

    def report(self, body: dict[str, Any], files: dict[str, bytes] | None = None) -> Report:
        """What is found of another certificate, signed by a key that the reader trusts."""
        return verify(files or self.files, ISSUER.sign(signed_statistics(body)), KEYS)
