"""Requests per owner and minute: shared by processes, never a reason to fail."""

import time
from typing import Any

from app.embedded.broker import BrokerServer
from tests.api.conftest import Api

LIST = "/v1/jobs"
STATE = "/v1/jobs/job_absent"


def begin_a_count(*, seconds: float = 20.0) -> None:
    """Wait until so much of the clock's minute is left: a count that crosses its end lets one more request pass."""
    left = 60.0 - time.time() % 60.0
    if left < seconds:
        time.sleep(left)


def statuses(api: Api, key: str, path: str, times: int) -> list[int]:
    with api.client(key) as client:
        return [client.get(path).status_code for _ in range(times)]


def test_an_owner_is_limited_over_all_its_keys_and_processes(start: Any) -> None:
    with start(requests_per_minute=5) as first, start(requests_per_minute=5) as second:
        begin_a_count()
        one, other = first.make_key("alice"), first.make_key("alice")
        assert statuses(first, one, LIST, 3) == [200] * 3
        assert statuses(second, other, LIST, 3) == [200, 200, 429]
        assert statuses(first, first.make_key("bob"), LIST, 1) == [200]
        with second.client(other) as client:
            refused = client.get(LIST)
        assert refused.json()["type"] == "/problems/too-many-requests"
        assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_state_reads_are_not_limited(start: Any) -> None:
    with start(requests_per_minute=2) as api:
        begin_a_count()
        key = api.make_key()
        assert statuses(api, key, STATE, 6) == [404] * 6
        assert statuses(api, key, LIST, 3) == [200, 200, 429]
        assert statuses(api, key, STATE, 2) == [404] * 2


def test_a_request_that_lacks_a_scope_costs_nothing(start: Any) -> None:
    with start(requests_per_minute=2) as api:
        begin_a_count()
        assert statuses(api, api.make_key(scopes=("datasets:read",)), LIST, 4) == [403] * 4
        assert statuses(api, api.make_key(), LIST, 3) == [200, 200, 429]


def test_without_a_broker_each_process_counts_and_none_fails(start: Any, own_broker: BrokerServer) -> None:
    with start(requests_per_minute=4, redis_url=own_broker.tcp_url()) as api:
        begin_a_count()
        key = api.make_key()
        assert statuses(api, key, LIST, 2) == [200] * 2
        own_broker.stop()
        assert statuses(api, key, LIST, 5) == [200] * 4 + [429]


def test_a_broker_at_a_unix_socket_counts_too(start: Any, own_broker: BrokerServer) -> None:
    with (
        start(requests_per_minute=1, redis_url=own_broker.url()) as first,
        start(requests_per_minute=1, redis_url=own_broker.url()) as second,
    ):
        begin_a_count()
        key = first.make_key()
        assert statuses(first, key, LIST, 1) == [200]
        assert statuses(second, key, LIST, 1) == [429]
