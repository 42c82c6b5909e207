"""Storage that accepts the entry of a publication and never answers holds nobody but that publication."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.embedded.broker import BrokerServer
from tests import patient
from tests.faults.test_frozen import boxes, table
from tests.hanging import HangingProxy
from tests.methods.asking import ended, succeed, upload
from tests.processes import Processes, processes
from tests.s3 import S3Server
from tests.servers import Databases, wait_until

#: What storage that hangs may hold others up for.
LONGEST = 30.0
ENTRIES = r"PUT /[^ ]*/publications/"
PUTS = "PUT "
#: Three releases of the same data leave less than k together.
ACCEPTED = {"accept_findings": ["composition"]}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HangingProxy]:
    """A proxy before an S3 service."""
    s3 = S3Server(tmp_path_factory.mktemp("s3") / "s3.log")
    s3.start()
    before = HangingProxy(s3.endpoint)
    yield before
    before.stop()
    s3.stop()


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, databases: Databases, broker_server: BrokerServer, proxy: HangingProxy
) -> Iterator[tuple[Processes, str]]:
    """A service whose storage is behind the proxy; and its address."""
    folder, url = tmp_path_factory.mktemp("hanging"), databases.fresh()
    settings = {
        "STORAGE_URL": f"s3://{S3Server.bucket}/hanging", "SUREBOX_S3_ENDPOINT": proxy.endpoint,
        "SUREBOX_S3_ALLOW_HTTP": "true", "SUREBOX_S3_ACCESS_KEY_ID": "test", "SUREBOX_S3_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }  # fmt: skip
    with processes(folder, database_url=url, redis_url=broker_server.tcp_url(9), **settings) as running:
        running.start("worker", "--queue", "interactive", log="interactive")
        running.start("worker", "--queue", "batch", "--concurrency", "2", log="batch")
        running.start("housekeeping", log="housekeeping")
        address, _ = running.api()
        running.wait_ready(address)
        yield running, address
    databases.drop(url)


@pytest.fixture
def owner(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.fixture
def client(service: tuple[Processes, str], owner: str) -> Iterator[httpx.Client]:
    running, address = service
    headers = {"Authorization": f"Bearer {running.key(owner)}"}
    with patient.Client(base_url=address, headers=headers, timeout=120) as made:
        yield made


def numbers(running: Processes, owner: str) -> list[int]:
    """The numbers of the owner's publications."""
    query = "SELECT number FROM publication_entry WHERE owner = %s ORDER BY number"
    with running.database.read() as connection:
        return list(connection.exec_driver_sql(query, (owner,)).scalars())


@pytest.mark.long
def test_an_entry_that_is_never_answered_holds_no_other_work_of_its_owner(
    service: tuple[Processes, str], client: httpx.Client, proxy: HangingProxy, owner: str
) -> None:
    dataset, alone = timed(lambda: upload(client, table(1)))
    drafts = [succeed(client, boxes(dataset["id"], k=k, publish="draft"))["release_id"] for k in (20, 30)]
    proxy.hang(ENTRIES)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(
            patient.post, f"{client.base_url}/v1/releases/{drafts[0]}/publish", headers=client.headers
        )
        wait_until(lambda: proxy.swallowed)
        proxy.answer()
        assert not any(still_open(service[0]) for _ in range(4))
        other, taken = timed(lambda: upload(client, table(2)))
        assert taken < LONGEST + 2 * alone
        made = succeed(client, boxes(other["id"]))
        assert client.post(f"/v1/releases/{drafts[1]}/publish", json=ACCEPTED).status_code in {200, 202}
        assert client.get(f"/v1/releases/{made['release_id']}").json()["state"] == "published"
        assert hanging.result(180).status_code == httpx.codes.SERVICE_UNAVAILABLE
    assert client.get(f"/v1/releases/{drafts[0]}").json()["state"] == "draft"
    published = client.post(f"/v1/releases/{drafts[0]}/publish", json=ACCEPTED)
    assert ended(client, published.json())["state"] in {"succeeded", "published"}
    wait_until(lambda: {client.get(f"/v1/releases/{each}").json()["state"] for each in drafts} == {"published"})
    assert numbers(service[0], owner) == [1, 2, 3]


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    return action(), time.monotonic() - began


def still_open(running: Processes) -> int:
    """The transactions that are open now, and were a second ago, while their process does something else."""
    query = (
        "SELECT pid, xact_start FROM pg_stat_activity WHERE datname = current_database()"
        " AND state IN ('idle in transaction', 'idle in transaction (aborted)')"
    )
    with running.database.read() as connection:
        before = set(map(tuple, connection.exec_driver_sql(query)))
        connection.exec_driver_sql("SELECT pg_sleep(1)")
        return len(before & set(map(tuple, connection.exec_driver_sql(query))))


def waits(client: httpx.Client) -> float:
    name = "surebox_publication_wait_seconds "
    lines = client.get("/metrics").text.splitlines()
    return next(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def test_a_job_whose_entry_is_never_answered_holds_no_other_job_of_its_owner(
    service: tuple[Processes, str], client: httpx.Client, proxy: HangingProxy, owner: str
) -> None:
    first, second = upload(client, table(3)), upload(client, table(4))
    proxy.hang(ENTRIES)
    job = client.post("/v1/anonymizations", json=boxes(first["id"])).json()
    wait_until(lambda: proxy.swallowed)
    proxy.answer()
    wait_until(lambda: waits(client) > 1)
    assert not any(still_open(service[0]) for _ in range(4))
    succeed(client, boxes(second["id"]))
    assert ended(client, job)["state"] == "succeeded"
    assert numbers(service[0], owner) == [1, 2]
    wait_until(lambda: waits(client) == 0)


@pytest.mark.long
def test_storage_that_answers_no_write_makes_the_service_unready(client: httpx.Client, proxy: HangingProxy) -> None:
    proxy.hang(PUTS)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(
            patient.post, f"{client.base_url}/v1/datasets", content=table(6).encode(), timeout=180,
            headers=dict(client.headers) | {"Content-Type": "text/csv"},
        )  # fmt: skip
        wait_until(lambda: client.get("/readyz").status_code == httpx.codes.SERVICE_UNAVAILABLE, seconds=LONGEST)
        assert client.get("/readyz").json()["unavailable"] == ["storage"]
        proxy.answer()
        assert sent.result(180).status_code in {httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.CREATED}
    assert upload(client, table(7))["state"] == "ready"
    wait_until(lambda: client.get("/readyz").status_code == httpx.codes.OK)
