"""Versions of random histories: what readers of all of them overlay, and the composed k that is reported."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from app.errors import InfeasibleError
from tests.drawing import seeds
from tests.methods.asking import released, succeed, upload
from tests.methods.boxes.histories import History
from tests.methods.boxes.ledgered import Ledgered
from tests.methods.boxes.overlaid import Overlaid

K = 4
SPEC: dict[str, Any] = {
    "method": "boxes", "quasi_identifiers": ["x", "town"], "k": K,
    "domains": {"x": [0, 1]}, "nominal": {"town": {"values": ["a", "b", "c"]}},
}  # fmt: skip
#: Kinds of tables, and how their releases are made.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rows": ({}, {}),
    "kept": ({}, {"keep": ["ill"]}),
    "kept, which changes": ({"kept_changes": 0.02}, {"keep": ["ill"]}),
    "rows, which move": ({"move": 0.01}, {}),
    "counted": ({}, {"keep": ["ill"], "k_counts_kept": True}),
    "varied": ({}, {"keep": ["ill"], "sensitive": ["ill"], "l": 2}),
    "missing": ({"missing": 0.05}, {"keep": ["ill"], "missing_policy": "drop"}),
    "persons": ({"several": 3}, {"person_column": "who"}),
    "persons, who move": (
        {"several": 2, "move": 0.01, "kept_changes": 0.01},
        {"person_column": "who", "keep": ["ill"]},
    ),
}


class Published:
    """A table that is published every month."""

    def __init__(self, client: httpx.Client, seed: int, kind: str) -> None:
        table, more = KINDS[kind]
        self.client, self.spec = client, SPEC | more
        self.history = History(seed, **table)
        self.dataset: str | None = None
        self.overlaid = Overlaid(
            self.spec["quasi_identifiers"], self.spec.get("keep", ()), by_class="k_counts_kept" in more
        )
        self.person: dict[Any, Any] = {}
        self.drafts, self.family = 0, ""

    def month(self, *, draft: bool = False, withdraw: bool = False) -> None:
        """Publish the table, or make a draft; perhaps withdraw what was published."""
        client = self.client
        word = {"new_family": True} if self.dataset is None else {"version_of_dataset_id": self.dataset}
        self.dataset = upload(client, self.history.frame().write_csv(), **word)["id"]
        job = succeed(client, self.spec | {"dataset_id": self.dataset} | ({"publish": "draft"} if draft else {}))
        release = client.get(f"/v1/releases/{job['release_id']}").json()
        if release["state"] != "published":
            self.drafts += not draft
            return
        rows = released(client, job)
        if withdraw:
            client.post(f"/v1/releases/{job['release_id']}/withdraw", json={"reason": "a test"}).raise_for_status()
        records = self.history.records()
        self.person |= {one: one[0] for one in records}
        self.overlaid.add(rows.to_dicts(), records)
        self.family = release["family_id"]

    def publications(self) -> list[dict[str, Any]]:
        """All that its family has published."""
        published: list[dict[str, Any]] = self.client.get(f"/v1/families/{self.family}").json()["published"]
        return published

    def reported(self) -> float:
        """Composed k of the last version."""
        return float(self.publications()[-1]["composition"]["composed_k"])


def run(client: httpx.Client, seed: int, kind: str, months: int) -> Published:
    made = Published(client, seed, kind)
    for month in range(months):
        if month:
            made.history.month()
        made.month(draft=month % 5 == 4, withdraw=month % 7 == 3)
    return made


def check(overlaid: Overlaid, reported: float, person: dict[Any, Any] | None) -> None:
    """The composed k that is reported is what readers of all versions are left with, and k or more."""
    group = overlaid.smallest_group(person)
    assert overlaid.torn == 0, "every box shows today's records, or what it showed"
    assert K <= reported <= group
    if person is None:
        assert reported == min(overlaid.fewest_apart(), group, overlaid.smallest_box())


@pytest.mark.parametrize("kind", ["kept", "persons, who move"])
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_published_versions_drafts_and_withdrawn_ones_leave_the_k_that_the_family_reports(
    client: httpx.Client, seed: int, kind: str
) -> None:
    made = run(client, seed, kind, 6)
    check(made.overlaid, made.reported(), made.person if "person_column" in made.spec else None)
    assert made.drafts == 0, "every version waits as far as it must to be published"
    ids = [one["release_id"] for one in made.publications()]
    person = {"person_column": "who"} if "person_column" in made.spec else {}
    audit = succeed(made.client, {"method": "composition", "release_ids": ids, **person}, kind="audits")["result"]
    assert audit["composed_k"] == made.reported()


def ledgered(folder: Path, seed: int, kind: str, months: int, persons: int) -> None:
    """A history of versions in this process."""
    table, more = KINDS[kind]
    history, spec = History(seed, persons, **table), SPEC | more
    versions, overlaid, person = Ledgered(folder, spec), Overlaid(
        spec["quasi_identifiers"], spec.get("keep", ()), by_class="k_counts_kept" in more
    ), {}  # fmt: skip
    for month in range(months):
        if month:
            history.month()
        try:
            done = versions.add(history.frame(), draft=month % 5 == 4)
        except InfeasibleError:  # k records of a class that the base was too small for are in no box
            return
        records = history.records()
        if month % 5 != 4:
            person |= {one: one[0] for one in records}
            overlaid.add(done.rows().to_dicts(), records)
            assert versions.composition is not None
            check(overlaid, versions.composition.composed_k, person if "person_column" in more else None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(1, 1))
def test_no_group_of_readers_of_all_versions_is_smaller_than_reported(tmp_path: Path, seed: int, kind: str) -> None:
    ledgered(tmp_path, seed, kind, 7, 160)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds(10, 10))
def test_two_years_of_versions_leave_the_k_that_is_reported(tmp_path: Path, seed: int, kind: str) -> None:
    ledgered(tmp_path, seed, kind, 24, 300)
