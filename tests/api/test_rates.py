"""Requests per owner and minute: shared by processes, never a reason to fail."""

import math
import re
import time
from typing import Any

import httpx
import redis
from hypothesis import example, given
from hypothesis import strategies as st

from app.api.rates import Allowance, Window
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


#: The two fields as draft-ietf-httpapi-ratelimit-headers-11 spells them: lists of strings with integers as parameters.
POLICY = re.compile(r'"([a-z]+)";q=(\d+);w=(\d+)')
LEFT = re.compile(r'"([a-z]+)";r=(\d+);t=(\d+)')


def stated(response: httpx.Response) -> tuple[str, int, int, int]:
    """Policy, quota, requests that are left and seconds, of an answer that states them."""
    policy = POLICY.fullmatch(response.headers["ratelimit-policy"])
    left = LEFT.fullmatch(response.headers["ratelimit"])
    assert policy is not None
    assert left is not None
    assert policy[1] == left[1]
    assert policy[3] == "60"
    assert 1 <= int(left[3]) <= 60
    return policy[1], int(policy[2]), int(left[2]), int(left[3])


def states_nothing(response: httpx.Response) -> bool:
    return not {"ratelimit", "ratelimit-policy"} & {name.lower() for name in response.headers}


def test_answers_state_what_is_left_over_keys_and_processes(start: Any) -> None:
    with start(requests_per_minute=4) as first, start(requests_per_minute=4) as second:
        begin_a_count()
        with first.client(first.make_key()) as one, second.client(first.make_key()) as other:
            answers = [client.get(LIST) for client in (one, other, one, other, one)]
            absent = one.get("/v1/releases/rel_absent")
    assert [stated(each)[:3] for each in answers] == [("owner", 4, left) for left in (3, 2, 1, 0, 0)]
    assert [each.status_code for each in (*answers, absent)] == [200] * 4 + [429] * 2
    for refused in (answers[-1], absent):
        assert int(refused.headers["retry-after"]) >= stated(refused)[3]


def test_an_answer_that_was_not_counted_states_nothing(start: Any) -> None:
    with start(requests_per_minute=3) as api:
        begin_a_count()
        with api.client(api.make_key()) as client:
            state, start_page = client.get(STATE), client.get("/")
            refusal, left = client.get("/v1/releases/rel_absent"), client.get(LIST)
        with api.client(api.make_key(scopes=("datasets:read",))) as poor, api.client() as nobody:
            forbidden, unknown = poor.get(LIST), nobody.get(LIST)
    assert [each.status_code for each in (state, start_page, forbidden, unknown)] == [404, 200, 403, 401]
    assert all(map(states_nothing, (state, start_page, forbidden, unknown)))
    assert (refusal.status_code, stated(refusal)[2], stated(left)[2]) == (404, 2, 1)


def test_an_address_without_a_key_has_a_policy_of_its_own(start: Any) -> None:
    with start(public_releases=True, public_requests_per_minute=2) as api:
        begin_a_count()
        with api.client() as anybody, api.client(api.make_key()) as keeper:
            public = [anybody.get("/v1/releases") for _ in range(3)]
            own = keeper.get("/v1/releases")
    assert [(each.status_code, *stated(each)[:3]) for each in public] == [
        (200, "address", 2, 1),
        (200, "address", 2, 0),
        (429, "address", 2, 0),
    ]
    assert stated(own)[:2] == ("owner", 6000)


def test_without_a_broker_answers_state_what_the_process_counts(start: Any, own_broker: BrokerServer) -> None:
    with start(requests_per_minute=3, redis_url=own_broker.tcp_url()) as api:
        own_broker.stop()
        begin_a_count()
        with api.client(api.make_key()) as client:
            answers = [client.get(LIST) for _ in range(4)]
    assert [(each.status_code, stated(each)[2]) for each in answers] == [(200, 2), (200, 1), (200, 0), (429, 0)]


def test_the_minute_before_counts_by_the_share_that_is_still_within_a_minute(start: Any) -> None:
    with start(requests_per_minute=600) as api:
        key = api.make_key()
        begin_a_count()
        number = int(time.time() // 60)
        counts = redis.Redis.from_url(api.settings.redis_url)
        counts.hset("surebox/requests/alice", mapping={"number": number - 1, "current": 600, "previous": 7})
        with api.client(key) as client:
            least = time.time()
            answers = [client.get(LIST) for _ in range(2)]
            most = time.time()
        assert {each.status_code for each in answers} == {200}
        for count, answer in enumerate(answers, 1):
            left = [600 - math.floor(600 * (60 - at % 60) / 60) - count for at in (least, most)]
            assert left[0] - 1 <= stated(answer)[2] <= left[1] + 1
        counts.hset("surebox/requests/alice", mapping={"number": number - 2})
        with api.client(key) as client:
            assert stated(client.get(LIST))[2] == 599
        assert 60_000 < counts.pttl("surebox/requests/alice") <= 120_000


@given(
    quota=st.integers(1, 200),
    share=st.floats(0, 1),
    left=st.integers(0, 200),
    rest=st.integers(1, 60_000),
)
@example(quota=200, share=1.0, left=0, rest=39_300)
def test_nothing_more_is_let_through_before_the_seconds_that_are_stated(
    quota: int, share: float, left: int, rest: int
) -> None:
    """Against the definition of the count, at every 97th millisecond."""
    previous = math.floor(share * quota)
    current = max(0, quota - previous * rest // 60_000 - left)
    allowance = Allowance("owner", quota, 60, Window(True, previous, current, rest))

    def left_after(milliseconds: int) -> int:
        still = rest - milliseconds
        if still > 0:
            return quota - previous * still // 60_000 - current
        return quota - current * (60_000 + still) // 60_000

    assert allowance.left == left_after(0) >= 0
    before = range(0, (allowance.wait - 1) * 1000, 97)
    assert {left_after(each) for each in before} <= {allowance.left}
    if allowance.left == 0:
        assert left_after(allowance.wait * 1000 + 1) > 0
