"""Recognition of the same data: its outcome, its questions to owners, and processes that decide at once."""

import io
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert, select, update

from app.contracts.base import new_id
from app.contracts.families import People
from app.contracts.findings import Review
from app.contracts.inputs import ReleaseInput
from app.contracts.releases import PublishRequest
from app.db.repositories import families, recognition
from app.db.repositories.secrets import Sealed
from app.db.session import Connection, Database
from app.db.tables.datasets import dataset, family, table_sketch
from app.errors import PublishedMeanwhileError
from app.releases.entries import catch_up
from app.releases.families import erase_family
from app.releases.publishing import publish_reviewed
from app.secrets.keep import open_sketch
from app.secrets.seal import Sealer
from app.settings import Settings
from tests.drawing import seeds
from tests.releases.conftest import Releases
from tests.releases.test_publishing import draft
from workers.algorithms.tables.recognition import Table, compared
from workers.algorithms.tables.sketches import hashed_column
from workers.engine.ending.commit import lock_families
from workers.engine.ending.composing import Candidate, composed
from workers.engine.families import Recognised, join_family, united
from workers.engine.resources import WorkerResources
from workers.frames.sketched import unpacked

KEY = np.array([3, 5], np.uint64)
SEALER = Sealer(b"a secret of the service" + b"." * 20)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile what compares tables before a transaction waits for it: the server ends one that stands still."""
    for other in (1, 2):
        compared(people(1), people(other).sketch, tables=1)


def people(*seeds: int) -> Table:
    """A table of the people of each seed: one of several seeds has all people of each."""
    cells = np.concatenate([np.random.default_rng([8, seed]).integers(0, 40, size=(200, 5)) for seed in seeds])
    return table(cells)


def table(cells: np.ndarray) -> Table:
    columns = [column.astype(np.uint64) for column in cells.T]
    return Table([hashed_column(f"c{at}", one, lambda: float("inf"), key=KEY) for at, one in enumerate(columns)])


def uploaded(
    connection: Connection, owner: str, *seeds: int, same_data_as_dataset_id: str | None = None, sha256: str = ""
) -> Recognised:
    made = new_id("ds")
    values = {"id": made, "owner": owner, "name": "d", "state": "ingesting", "options": {"format": "csv"}, "bytes": 1}
    word = {"same_data_as_dataset_id": same_data_as_dataset_id, "sha256": sha256 or made}
    connection.execute(insert(dataset).values(**values, **word))
    return Recognised(made, owner, people(*seeds), SEALER)


def test_a_dataset_that_is_named_before_it_is_read_is_of_the_same_family(published: Releases) -> None:
    with published.processes.database.unit_of_work() as unit:
        first = uploaded(unit.connection, published.owner, 1)
        second = uploaded(unit.connection, published.owner, 2, same_data_as_dataset_id=first.dataset_id)
        other = uploaded(unit.connection, published.owner, 1, same_data_as_dataset_id="none")
        joined = join_family(unit.connection, second)
        assert join_family(unit.connection, first) == joined
        assert join_family(unit.connection, other) != joined
        query = select(dataset.c.family_id).where(dataset.c.id.in_([first.dataset_id, second.dataset_id]))
        assert set(unit.connection.execute(query).scalars()) == {joined}
        known = {one for one, _ in recognition.known_tables(unit.connection, owner=published.owner)}
        assert {first.dataset_id, second.dataset_id} <= known
        assert other.dataset_id not in known, "what was set apart is compared with nothing"


def test_what_was_stored_since_a_dataset_was_compared_is_compared_as_it_joins(published: Releases) -> None:
    with published.processes.database.unit_of_work() as unit:
        early = uploaded(unit.connection, published.owner, 31)  # compared with nothing yet: both came at once
        late = uploaded(unit.connection, published.owner, 31)
        others = uploaded(unit.connection, published.owner, 32)
        assert join_family(unit.connection, early) == join_family(unit.connection, late)
        assert join_family(unit.connection, others) != join_family(unit.connection, late)


def test_a_file_of_the_same_bytes_is_of_the_same_family_however_it_was_read(published: Releases) -> None:
    with published.processes.database.unit_of_work() as unit:
        first = uploaded(unit.connection, published.owner, 41, sha256="f" * 64)
        other = uploaded(unit.connection, published.owner, 42, sha256="f" * 64)
        assert join_family(unit.connection, first) == join_family(unit.connection, other)


def wait_for_locks(database: Database, number: int) -> None:
    """Return once so many wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with database.read() as connection:
            if connection.exec_driver_sql(query).scalar_one() >= number:
                return
    raise TimeoutError


@pytest.mark.parametrize("seed", seeds(3))
def test_a_sketch_is_kept_sealed_and_does_not_state_the_order_of_rows(published: Releases, seed: int) -> None:
    """Else a reader of the database guesses values by how often their bytes occur, person by person."""
    draw = np.random.default_rng([19, seed])
    cells = draw.integers(0, int(draw.integers(2, 200)), size=(int(draw.integers(20, 1024)), int(draw.integers(2, 7))))
    bodies = []
    for rows in (cells, draw.permutation(cells)):
        with published.processes.database.unit_of_work() as unit:
            one = replace(uploaded(unit.connection, published.owner, 1), table=table(rows))
            join_family(unit.connection, one)
            statement = select(table_sketch.c.sketch).where(table_sketch.c.dataset_id == one.dataset_id)
            stored = unit.connection.execute(statement).scalar_one()
            known = next(recognition.tables(unit.connection, owner=published.owner, dataset_ids=[one.dataset_id]))
        with pytest.raises(ValueError, match="pickled"):
            np.load(io.BytesIO(stored))
        opened = open_sketch(SEALER, known, owner=published.owner)
        bodies.append(unpacked(opened).samples[0].codes.tolist())
        assert opened not in stored
    assert bodies[0] == bodies[1]


def test_publishing_and_joining_families_at_once_end_both(published: Releases) -> None:
    """Both hold what the other one needs, if a publication locks its release before it is known who joins what."""
    processes, owner = published.processes, published.owner
    with processes.database.unit_of_work() as unit:
        named = sorted(join_family(unit.connection, uploaded(unit.connection, owner, seed)) for seed in (51, 52))
        assert named[0] != named[1]
        joins = uploaded(unit.connection, owner, 51, 52)
    release_id = draft(published, family_id=named[1], composed_after=0)

    def join() -> str:
        with processes.database.unit_of_work() as unit:
            return join_family(unit.connection, joins)

    with ThreadPoolExecutor(2) as pool:
        with processes.database.unit_of_work() as unit:
            families.lock(unit.connection, family_id=named[1])
            joining = pool.submit(join)
            wait_for_locks(processes.database, 1)
            publishing = pool.submit(published.client.post, f"/v1/releases/{release_id}/publish")
            wait_for_locks(processes.database, 2)
        assert joining.result(60) == named[0]
        assert publishing.result(60).status_code == 200
    with processes.database.read() as connection:
        assert [one.release_id for one in families.ledger(connection, owner=owner, family_id=named[0])] == [release_id]


def in_question(connection: Connection, owner: str, *seeds: int, people: People | None = None) -> list[str]:
    """Families of the people of two seeds, about which there is a question; by their ids."""
    pair = [uploaded(connection, owner, seed) for seed in seeds]
    names = [join_family(connection, one) for one in pair]
    evidence = {"columns": ["c0"], "agreeing": 0.9, "by_chance": 0.3}
    recognition.put_question(
        connection, owner=owner, dataset_id=pair[0].dataset_id, other_dataset_id=pair[1].dataset_id, evidence=evidence
    )
    if people is not None:
        recognition.answer(connection, family_id=names[0], other_family_id=names[1], people=people, key_id=None)
    return sorted(names)


def test_composing_and_joining_families_at_once_end_both(published: Releases) -> None:
    """A union holds rows of one family and takes those of the other; who composes takes both in their order."""
    processes, owner = published.processes, published.owner
    with processes.database.unit_of_work() as unit:
        first, second = in_question(unit.connection, owner, 61, 62)
    release_id = draft(published, family_id=first)
    release = ReleaseInput(id=new_id("rel"), method="boxes", dataset_id="ds_1", rows=1, columns=(), flags=(), spec={})
    urls = {name: processes.settings[name.upper()] for name in ("database_url", "redis_url", "storage_url")}
    at = WorkerResources.open(Settings(**urls), threads=1)
    later = replace(release, spec={"method": "boxes", "base_release_id": release_id})
    candidate = Candidate(owner=owner, release=later, path=Path(), scratch=Path())
    try:
        with ThreadPoolExecutor(1) as pool, processes.database.unit_of_work() as unit:
            families.lock_recognising(unit.connection, owner=owner)
            families.lock(unit.connection, family_id=second)
            composing = pool.submit(composed, candidate, at=at)
            wait_for_locks(processes.database, 1)
            families.lock(unit.connection, family_id=first)
        assert composing.result(60).family_id == first
    finally:
        at.close()


def test_learning_again_and_publishing_at_once_end_both(published: Releases) -> None:
    """Uniting two families again and publishing from one of them take the same locks, and both end."""
    processes, owner = published.processes, published.owner
    with processes.database.unit_of_work() as unit:
        pair = [uploaded(unit.connection, owner, seed) for seed in (63, 64)]
        first, second = sorted(join_family(unit.connection, one) for one in pair)
    family_id, storage = new_id("fam"), published.storage
    rows = {"family": [{"id": family_id, "owner": owner, "created_at": "2026-01-01T00:00:00Z", "published": 1,
                        "apart": False, "confirmed": True, "joined": True, "older_secrets": False}]}  # fmt: skip
    body = {"owner": owner, "number": 1, "release_id": new_id("rel"), "rows": rows,
            "datasets": [one.dataset_id for one in pair]}  # fmt: skip
    key = f"publications/{sha256(owner.encode()).hexdigest()[:32]}/{1:012d}/{body['release_id']}.json"
    with storage.writer(key) as writer:
        writer.write(json.dumps(body).encode())
    with ThreadPoolExecutor(1) as pool, processes.database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=owner)
        families.lock(unit.connection, family_id=second)
        learning = pool.submit(catch_up, database=processes.database, storage=storage, owner=owner)
        wait_for_locks(processes.database, 1)
        families.lock(unit.connection, family_id=first)
    assert learning.result(60) == 1
    with processes.database.read() as connection:
        assert {families.of_dataset(connection, dataset_id=one.dataset_id) for one in pair} == {family_id}


@pytest.mark.parametrize("seed", seeds(3))
def test_a_union_against_an_answer_leaves_a_question(published: Releases, seed: int) -> None:
    """Data of both families turn up: they stay two, and nothing is published before someone has answered again."""
    seeds_of, owner = np.random.default_rng([71, seed]).choice(10**6, 2, replace=False).tolist(), published.owner
    with published.processes.database.unit_of_work() as unit:
        pair = in_question(unit.connection, owner, *seeds_of, people=People.OTHER)
        both = uploaded(unit.connection, owner, *seeds_of)
        joined = join_family(unit.connection, both)
        assert joined in pair
        (other,) = set(pair) - {joined}
        assert families.exists(unit.connection, owner=owner, family_id=other)
        assert recognition.possibly_same(unit.connection, family_id=joined) == [other]
        recognition.answer(
            unit.connection, family_id=joined, other_family_id=other, people=People.OTHER, key_id=None
        )  # fmt: skip
        assert join_family(unit.connection, both) == joined
        assert recognition.possibly_same(unit.connection, family_id=joined) == [], "who has answered is not asked again"


FINDING = {"audit": "recognition", "severity": "high", "detail": "?", "measured": 0.9, "required": 0.3}


@pytest.mark.parametrize("ends", ["united", "erased", "a third is united"])
def test_a_draft_forgets_a_question_that_is_none_any_more(published: Releases, ends: str) -> None:
    database, owner = published.processes.database, published.owner
    with database.unit_of_work() as unit:
        first, second = in_question(unit.connection, owner, 81, 82)
        unit.connection.execute(update(family).where(family.c.id == second).values(published=1))
    release_id = draft(published, family_id=first, composed_after=1, findings=json.dumps([FINDING]))
    refused = published.client.post(f"/v1/releases/{release_id}/publish")
    assert (refused.status_code, "recognition" in refused.text) == (409, True)
    with database.unit_of_work() as unit:
        if ends == "united":
            join_family(unit.connection, uploaded(unit.connection, owner, 81, 82))
        elif ends != "erased":
            third = families.create(unit.connection, owner=owner)
            united(unit.connection, family_id=second, others=[third])
    if ends == "erased":
        erase_family(database=database, owner=owner, key_id=None, family_id=second)
    with database.read() as connection:
        now = recognition.draft(connection, release_id=release_id)
    if ends == "a third is united":  # the question is as it was, about a family of another name
        assert [one["detail"].count(first) for one in now.findings] == [2]
        assert now.composed_after == 1
    else:
        assert (now.findings, now.composed_after) == ([], -1 if ends == "united" else 0)


def test_a_draft_that_is_composed_again_keeps_no_finding_about_other_families(published: Releases) -> None:
    with published.processes.database.unit_of_work() as unit:
        family_id = join_family(unit.connection, uploaded(unit.connection, published.owner, 91))
    kept = FINDING | {"audit": "table", "severity": "low"}
    release_id = draft(published, family_id=family_id, findings=json.dumps([FINDING, kept]))
    review = Review(findings=(), family_id=family_id, composed_after=0, composed=None)
    with published.processes.database.unit_of_work() as unit:
        publish_reviewed(
            unit.connection, owner=published.owner, key_id=None, release_id=release_id, review=review,
            request=PublishRequest(), certify=lambda *_: None,
        )  # fmt: skip
    shown = published.client.get(f"/v1/releases/{release_id}").json()
    assert (shown["state"], [one["audit"] for one in shown["findings"]]) == ("published", ["table"])


def test_persons_that_became_known_during_a_review_are_compared_before_it_ends(published: Releases) -> None:
    """Of two releases that are reviewed at once neither has compared its persons with those of the other."""
    database, owner = published.processes.database, published.owner
    with database.unit_of_work() as unit:
        pair = [uploaded(unit.connection, owner, seed) for seed in (95, 96)]
        names = [join_family(unit.connection, one) for one in pair]

    def end(at: int, compared: frozenset[tuple[str, str]] = frozenset()) -> None:
        with database.unit_of_work() as unit:
            lock_families(
                unit.connection, owner=owner, person="id", family_id=names[at], compared=compared
            )  # fmt: skip
            recognition.remember_persons(
                unit.connection, owner=owner, family_id=names[at], dataset_id=pair[at].dataset_id, name="id",
                sealed=Sealed(b"", b""),
            )  # fmt: skip

    with ThreadPoolExecutor(1) as pool:
        with database.unit_of_work() as unit:
            families.lock_recognising(unit.connection, owner=owner)
            late = pool.submit(end, 1)
            wait_for_locks(database, 1)
            recognition.remember_persons(
                unit.connection, owner=owner, family_id=names[0], dataset_id=pair[0].dataset_id, name="id",
                sealed=Sealed(b"", b""),
            )  # fmt: skip
        with pytest.raises(PublishedMeanwhileError):
            late.result(60)
    end(1, frozenset({(pair[0].dataset_id, "id")}))
    end(0, frozenset({(pair[1].dataset_id, "id")}))
