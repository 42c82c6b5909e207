"""No value of anybody is published: marked data are released by every method, and all that is public is searched.

What is looked for are all cells of columns that are not published as they are, texts and numbers, and the restricted
figures of the jobs; where is every answer that a reader of a release, or of the service, can get, and every log.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.contracts.releases import ReleaseFormat
from app.methods.catalogue import METHODS
from tests import patient
from tests.methods.asking import succeed, upload
from tests.methods.examples import examples
from tests.methods.marked import Marks, unwrapped
from tests.methods.roundings import Roundings
from tests.service import Service
from tests.stored import stored

PEOPLE = 260
REGIONS = 8
STATISTICS = [
    {"kind": "mean", "of": ["wealth"]}, {"kind": "variance", "of": ["wealth"]},
    {"kind": "correlation", "of": ["wealth", "debt"]}, {"kind": "regression", "of": ["wealth", "debt"]},
    {"kind": "quantile", "of": ["debt"], "p": 0.5},
]  # fmt: skip
RARE, HIDDEN, TERM, SOURCE = "Marked-Zürich-4711", "marked column", "marked term", "marked file of ours"
_QUASI = {"quasi_identifiers": ["wealth", "debt"], "k": 5}
#: Releases that are asked for by bodies of their own; what is asked of each later. Of other methods: `_examples`.
_CHOSEN: dict[str, dict[str, Any]] = {
    "boxes": {
        "method": "boxes", "quasi_identifiers": ["wealth", "debt", "town"], "k": 5, "keep": ["sex"],
        "missing_policy": "pattern",
    },
    "boxes with means": {"method": "boxes", **_QUASI, "statistics": STATISTICS, "box_means": "rounded"},
    "boxes, rare ones left out": {
        "method": "boxes", **_QUASI, "statistics": STATISTICS[:4], "rare_records": "suppress",
    },
    "uncertain": {"method": "uncertain", **_QUASI, "keep": ["sex"]},
    "swaps": {
        "method": "swaps", "region_columns": ["region"], "drop": ["wealth", "debt", "income", "town", "person", HIDDEN],
        "mask": [{"region": ["R1"], "at_most": 12}], "search": {"method": "assignment"}, "protected_alphas": [0.5],
        "decoys": 0.0,
        "rules_model": {
            "variables": [
                {"column": "age", "range": [18, 80], "terms": [{"name": TERM, "shape": "z", "points": [25, 30]}]},
            ],
            "rules": [{"terms": [1]}], "min_membership": 0.5,
        },
    },
}  # fmt: skip


def _examples() -> dict[str, dict[str, Any]]:
    """The examples of the methods that have no body here: the people have the columns of which those speak."""
    chosen = {spec["method"] for spec in _CHOSEN.values()}
    return {name: body for name, body in examples(making_releases=True) if body["method"] not in chosen}


SPECS = _CHOSEN | _examples()
FORMATS = [each.value for each in ReleaseFormat]
#: Of the address of a release: what readers may ask of it beside what there is to read.
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("count", {"queries": [{"wealth": [20_000, 50_000]}, {"debt": [None, 30_000]}]}),
    ("count", {"queries": [{"elsewhere": [1, 2]}]}),
    ("classify", {"target": "sex", "neighbours": 3, "points": [{"wealth": 40_000, "debt": 40_000}]}),
    ("statistics", {"statistics": STATISTICS}),
    ("statistics", {"statistics": [{"kind": "share", "of": ["town"], "values": ["nowhere"]}]}),
]


@dataclass
class Published:
    """Releases of marked data, what must stand nowhere, and all that was heard of them."""

    marks: Marks
    jobs: dict[str, dict[str, Any]]
    dataset_id: str
    heard: dict[str, bytes] = field(default_factory=dict)

    def hear(self, label: str, answer: httpx.Response) -> httpx.Response:
        """Remember an answer whole: status, headers, body."""
        headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        self.heard[f"{label}, headers"] = f"{answer.status_code}\n{headers}".encode()
        self.heard[label] = answer.content
        return answer


def people() -> pl.DataFrame:
    """Everybody has numbers of 13 digits and a name; one lives where nobody else does, some do not tell where."""
    draw = np.random.default_rng([2026, 11])
    region = draw.integers(0, REGIONS, PEOPLE)
    young = (region == 1) & (draw.random(PEOPLE) < 0.7)
    town = draw.choice(["Oslo", "Bergen", None], PEOPLE, p=[0.6, 0.3, 0.1]).tolist()
    return pl.DataFrame({
        "person": [f"Marked-{n:03}-{draw.bytes(5).hex()}" for n in range(PEOPLE)],
        "wealth": amounts(draw),
        "debt": amounts(draw),
        "income": amounts(draw),
        "town": [RARE, *town[1:]],
        "sex": draw.choice(["f", "m"], PEOPLE),
        "age": np.where(young, draw.integers(18, 25, PEOPLE), draw.integers(35, 80, PEOPLE)),
        "hours": draw.integers(10, 60, PEOPLE),
        "way": draw.integers(1, 4, PEOPLE),
        "job": draw.choice(["army", "other"], PEOPLE),
        "region": [f"R{each}" for each in region],
        HIDDEN: draw.integers(10**13, 10**14, PEOPLE),
    })  # fmt: skip


def amounts(draw: np.random.Generator) -> np.ndarray:
    """Numbers of 13 digits, the last of which is not zero."""
    return np.round(draw.uniform(10_000, 99_999, PEOPLE), 7) + draw.integers(1, 10, PEOPLE) / 1e8


def restricted(job: dict[str, Any]) -> Iterator[float]:
    """Figures of a job that only its owner may read, as far as they can be told from others."""
    for one in job["result"].get("statistics", ()):
        values = one.get("true_value") if one["kind"] in {"mean", "variance", "correlation", "regression"} else None
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, float) and len(repr(value).lstrip("-0.").replace(".", "")) >= 15:
                yield abs(value)


@pytest.fixture(scope="module")
def published(service: Service, client: httpx.Client) -> Published:
    """One release of each kind, of marked people, each kind of people of its own: no release is composed."""
    frame, jobs, marks = people(), {}, set[str | float]({RARE, HIDDEN, TERM, SOURCE})
    for place, (name, spec) in enumerate(SPECS.items()):
        moved = frame.with_columns(pl.col("wealth", "debt", "income") + 17 * place, pl.col("person") + f"-{place}")
        if "pattern" not in str(spec):
            moved = moved.with_columns(pl.col("town").fill_null("Oslo"))
        query = {"new_family": True, "name": SOURCE}
        dataset_id = str(upload(client, moved.sample(fraction=1.0, shuffle=True).write_csv(), **query)["id"])
        jobs[name] = succeed(client, spec | {"dataset_id": dataset_id, "formats": FORMATS})
        if name == "swaps":  # its protection is not reached, which somebody takes upon themselves
            release = f"/v1/releases/{jobs[name]['release_id']}"
            answer = client.post(f"{release}/publish", json={"accept_findings": ["swaps"]})
            assert answer.status_code == httpx.codes.OK, answer.text
        marks |= {
            *moved["wealth"],
            *moved["debt"],
            *moved["income"],
            *moved["person"],
            *map(float, moved[HIDDEN]),
            *restricted(jobs[name]),
        }
    return Published(Marks.of(marks), jobs, dataset_id)


def read_all(client: httpx.Client, published: Published, who: str, release_id: str) -> int:
    """Every address that the document has for a release, and what is asked at some; how many could be read."""
    paths = client.get("/openapi.json").json()["paths"]
    there = 0
    for path, methods in paths.items():
        if "{release_id}" in path and "get" in methods:
            address = path.replace("{release_id}", release_id)
            for query in [{"format": each} for each in FORMATS] if path.endswith("/data") else [{}]:
                answer = published.hear(f"{who}: GET {address} {query}", client.get(address, params=query))
                there += answer.status_code == httpx.codes.OK
    published.hear(f"{who}: HEAD {release_id}", client.head(f"/v1/releases/{release_id}/data"))
    part = {"Range": "bytes=-300"}
    published.hear(f"{who}: a part of {release_id}", client.get(f"/v1/releases/{release_id}/data", headers=part))
    for place, (question, body) in enumerate(QUESTIONS):
        answer = client.post(f"/v1/releases/{release_id}/{question}", json=body)
        published.hear(f"{who}: question {place} to {release_id}", answer)
    return there


def read_service(client: httpx.Client, published: Published, who: str) -> None:
    """What the service tells everybody, and those who have a key."""
    for path in ("/.well-known/jwks.json", "/v1/revocations", "/metrics", "/healthz", "/readyz", "/v1/releases",
                 "/v1/jobs", "/v1/datasets", "/nowhere"):  # fmt: skip
        published.hear(f"{who}: GET {path}", client.get(path))


def test_every_releasing_method_is_searched() -> None:
    releasing = {name for name, method in METHODS.items() if "formats" in method.spec.model_fields}
    assert {spec["method"] for spec in SPECS.values()} == releasing


def test_no_value_of_anybody_is_published(service: Service, client: httpx.Client, published: Published) -> None:
    """Read by another owner, and without a key; then when the releases are withdrawn, and their jobs deleted."""
    assert len(published.marks.numbers) > 2 * PEOPLE * len(SPECS)
    anybody = patient.Client(base_url=service.address)
    with service.client(owner="a reader of leaks", scopes=("releases:read",)) as reader, anybody:
        for name, job in published.jobs.items():
            release = f"/v1/releases/{job['release_id']}"
            assert client.get(release).json()["state"] == "published", name
            client.patch(release, json={"readers": "public"})
            there = [read_all(each, published, name, job["release_id"]) for each in (anybody, reader)]
            assert min(there) >= len(FORMATS) + 5, "the release, statistics, provenance, certificate, report, files"
            published.hear(f"{name}: its job", reader.get(f"/v1/jobs/{job['id']}"))
            published.hear(f"{name}: the job's report", reader.get(f"/v1/jobs/{job['id']}/report"))
        read_service(reader, published, "reader")
        read_service(anybody, published, "anybody")
        for name, job in published.jobs.items():
            release = f"/v1/releases/{job['release_id']}"
            client.post(f"{release}/withdraw", json={"reason": "over"}).raise_for_status()
            client.delete(f"/v1/jobs/{job['id']}").raise_for_status()
            client.delete(release).raise_for_status()
            assert read_all(reader, published, f"{name}, deleted", job["release_id"]) == 0
        client.delete(f"/v1/datasets/{published.dataset_id}").raise_for_status()
        read_service(anybody, published, "anybody at last")
    for path in (service.folder.with_name(service.folder.name + ".log"), *stored(service.folder, ".log")):
        published.heard[path.name] = path.read_bytes()
    assert sum(label.endswith(".log") for label in published.heard) >= 6
    seen: set[bytes] = set()
    assert not _in_few_digits(published)
    leaks = {
        label: matches for label, raw in published.heard.items() if (matches := published.marks.marks_in(raw, seen))
    }
    assert not leaks


def _in_few_digits(published: Published) -> dict[str, tuple[int, float]]:
    """Cells in six to eight digits or in four bytes, where they are more than chance has."""
    roundings, seen = Roundings.of(published.marks.numbers), set[bytes]()
    for raw in published.heard.values():
        for piece in unwrapped(raw, seen):
            roundings.look(piece)
    return roundings.excess()
