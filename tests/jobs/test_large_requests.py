"""Requests of a few hundred bytes that took a machine: each is refused beforehand, with its figure and what would fit.

The profiles state the tables that they were about; the limits are a third of what each took where it was measured.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest
from sqlalchemy import update

from app.db.repositories import workers
from app.db.tables.datasets import dataset
from tests.jobs.service import Service

ROWS: Final = 100_000
TEXTS: Final = ["n0", "n1", "n2"]
NUMBERS: Final = [f"g{at}" for at in range(8)]
#: Columns of the table, and how many values each has.
VALUES: Final = dict.fromkeys(TEXTS, 1_000) | dict.fromkeys(NUMBERS, 10_000) | {"id": ROWS, "region": 20_000, "job": 30}
TERMS: Final = [{"name": f"t{at}", "shape": "range", "points": [at / 20, (at + 1) / 20]} for at in range(20)]
VARIABLES: Final = [{"column": name, "range": [0, 1], "terms": TERMS} for name in NUMBERS]
BOXES: Final = {"method": "boxes", "quasi_identifiers": TEXTS, "k": 5}
GROUP: Final = {
    "method": "group", "region_columns": ["region"], "variables": VARIABLES, "min_support": 0,
    "hidden_group": {"column": "job", "values": ["3"]}, "min_relative_confidence": 0,
}  # fmt: skip
GIGABYTE: Final = 10**9


@dataclass(frozen=True)
class Large:
    """A request; the limit that it meets: CPU seconds, bytes of a worker's memory or of a release; and its sentence."""

    body: dict[str, Any]
    named: str
    seconds: float = 3_600.0
    memory: int | None = None
    written: float = 50e9


LARGE: Final = {
    "boxes of three texts": Large(BOXES, "of memory", memory=int(3.85 * GIGABYTE / 3)),
    "and their files": Large(BOXES, "of files", written=1.04e9 / 3),
    "a cross-table": Large(
        BOXES | {"quasi_identifiers": TEXTS[:2], "statistics": [{"kind": "crosstab", "of": TEXTS[:2]}]},
        "of memory",
        memory=2 * GIGABYTE,
    ),
    "a cross-table, its time": Large(
        BOXES | {"quasi_identifiers": TEXTS[:2], "statistics": [{"kind": "crosstab", "of": TEXTS[:2]}]}, "of CPU"
    ),
    "t, ordered": Large(
        BOXES | {"quasi_identifiers": NUMBERS[:3], "sensitive": ["id"], "t": 0.3, "t_distance": {"id": "ordered"},
                 "least_widths": "none"},
        "of CPU",
        seconds=89 / 3,
    ),
    "exhaustive, 8 x 20": Large(GROUP | {"search": {"method": "exhaustive"}}, "of CPU", seconds=74 / 3),
    "a large population": Large(
        GROUP | {"search": {"method": "evolution", "population": 10_000, "replaced": 10_000, "generations": 20}},
        "of CPU",
    ),
    "swaps of 20,000 places": Large(
        {
            "method": "swaps", "region_columns": ["region"], "search": {"method": "assignment"},
            "rules_model": {"variables": VARIABLES[:2], "rules": [{"terms": [1, 1]}]},
        },
        "of CPU",
        seconds=40.0,
    ),
}  # fmt: skip


def profiled(service: Service) -> str:
    """A dataset of the table, as far as its profile says."""
    made = service.dataset()
    described = [
        {"name": name, "type": "number" if name in (*NUMBERS, "id") else "string", "missing": 0, "distinct": values}
        for name, values in VALUES.items()
    ]
    numeric = {name: {"finite_minimum": 0.0, "finite_maximum": 1.0, "infinite": 0} for name in (*NUMBERS, "id")}
    with service.database.unit_of_work() as unit:
        values: dict[str, Any] = {"columns": described, "numeric": numeric, "rows": ROWS, "bytes": 4_400_000}
        unit.connection.execute(update(dataset).where(dataset.c.id == made).values(**values))
    return made


def submitted(client: httpx.Client, body: dict[str, Any], dataset_id: str) -> httpx.Response:
    audit = body["method"] == "group"
    named = {"auxiliary_dataset_id" if audit else "dataset_id": dataset_id}
    return client.post("/v1/audits" if audit else "/v1/anonymizations", json=body | named)


def less(body: dict[str, Any], fitting: str) -> dict[str, Any] | None:
    """The request that a sentence names as fitting the same data; None: it names a sample alone."""
    if listed := re.search(r"([\d,]+) of its [\d,]+ (columns|variables)", fitting):
        field = {"columns": "quasi_identifiers", "variables": "variables"}[listed[2]]
        first = body[field][: int(listed[1].replace(",", ""))]
        kept = [one for one in body.get("statistics", []) if field != "quasi_identifiers" or {*one["of"]} <= {*first}]
        assert len(kept) == len(body.get("statistics", [])) or "without the statistics of the others" in fitting
        rest = {name: value for name, value in body.items() if name != "statistics"}
        return rest | {field: first} | ({"statistics": kept} if kept else {})
    return body | {"formats": ["parquet"]} if "Parquet alone" in fitting else None


@pytest.mark.parametrize("name", LARGE)
def test_what_took_the_machine_is_refused_with_the_figure_and_what_would_fit(
    serve: Callable[..., Service], name: str
) -> None:
    large = LARGE[name]
    service = serve(max_job_cpu_seconds=large.seconds, max_job_release_bytes=large.written)
    seen = workers.Sighting(id="w", queue="batch", host="h", pid=1, rss_bytes=1, concurrency=1,
                            memory_bytes=large.memory, scratch_bytes=None)  # fmt: skip
    with service.database.unit_of_work() as unit:
        workers.seen(unit.connection, sighting=seen)
    dataset_id = profiled(service)
    with service.client() as client:
        refused = submitted(client, large.body, dataset_id)
        assert (refused.status_code, refused.json()["type"]) == (422, "/problems/job-too-large"), refused.text
        detail = refused.json()["detail"]
        assert re.search(rf"[\d.,]+ (s|h|GB) {large.named}", detail)
        _, fitting = detail.split(" What would fit: ")
        assert "sample of about" in fitting or less(large.body, fitting)
        smaller = less(large.body, fitting)
        if smaller is not None:
            taken = submitted(client, smaller, dataset_id)
            assert taken.status_code == 202, taken.text
