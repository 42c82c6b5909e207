"""What one connection may cost: bytes that are no body, and time, over real sockets to a real API process."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.drawing import seeds
from tests.processes import Processes, processes

HEAD_SECONDS, BODY_SECONDS, IDLE_SECONDS = 1.0, 3.0, 2.0
LIMITS = {
    "SUREBOX_HEAD_TIMEOUT_SECONDS": str(HEAD_SECONDS),
    "SUREBOX_BODY_TIMEOUT_SECONDS": str(BODY_SECONDS),
    "SUREBOX_IDLE_TIMEOUT_SECONDS": str(IDLE_SECONDS),
    "SUREBOX_MAX_UPLOAD_BYTES": "3000000",
}
#: Above every limit, and below what a client may send before it reads.
MUCH = b"x" * 100_000
#: How long a busy machine may take; nothing that is promised takes as long.
PATIENCE = 60.0
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: here\r\n"


@dataclass(frozen=True, slots=True)
class Service:
    """An API process and a key for it."""

    port: int
    key: str
    processes: Processes

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def exchange(self, *pieces: bytes) -> tuple[int, dict[str, Any]]:
        """Send all pieces and read until the connection ends."""
        with self.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
            return answer(rest(connection))

    def submission(self, *more: str, path: str = "/v1/anonymizations", media_type: str = "application/json") -> bytes:
        """The head of a request whose body is read."""
        lines = [f"POST {path} HTTP/1.1", "Host: here", f"Content-Type: {media_type}"]
        return "\r\n".join([*lines, f"Authorization: Bearer {self.key}", *more, "", ""]).encode()


def rest(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received


def answer(received: bytes) -> tuple[int, dict[str, Any]]:
    """Status and problem of the only answer in these bytes."""
    head, _, body = received.partition(b"\r\n\r\n")
    assert received.count(b"HTTP/1.1 ") == 1, received
    return int(head.split()[1]), json.loads(body)


@pytest.fixture(scope="module")
def service(databases: Any, broker_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    url = databases.fresh()
    folder = tmp_path_factory.mktemp("connections")
    with processes(folder, database_url=url, redis_url=broker_server.tcp_url(), **LIMITS) as made:
        address, _ = made.api()
        yield Service(int(address.rpartition(":")[2]), made.key(), made)
    databases.drop(url)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(lambda: ALIVE + b"X-Long: " + MUCH, id="one header"),
        pytest.param(lambda: ALIVE + b"X: y\r\n" * 20_000, id="many headers"),
        pytest.param(lambda: b"GET /healthz?" + MUCH, id="address"),
    ],
)
def test_a_head_is_refused_before_it_has_ended(service: Service, head: Callable[[], bytes]) -> None:
    status, problem = service.exchange(head())
    assert (status, problem["type"]) == (431, "/problems/head-too-large")
    assert "65536 bytes" in problem["detail"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"2;" + MUCH, id="extension of a chunk"),
        pytest.param(b"2\r\n{}\r\n0\r\nX-Trailer: " + MUCH, id="trailer"),
        pytest.param(b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 20_000, id="trailers"),
    ],
)
def test_what_surrounds_a_body_is_refused_like_a_head(service: Service, body: bytes) -> None:
    status, problem = service.exchange(service.submission("Transfer-Encoding: chunked"), body)
    assert (status, problem["type"]) == (431, "/problems/head-too-large")


def test_the_client_of_a_huge_head_reads_why_it_is_refused(service: Service) -> None:
    with service.connect() as connection:
        connection.sendall(ALIVE + b"X-Long: ")
        sent = 0
        connection.setblocking(False)
        deadline = time.monotonic() + PATIENCE
        received = b""
        while not received and sent < 128_000_000 and time.monotonic() < deadline:
            with suppress(BlockingIOError):
                sent += connection.send(MUCH)
            with suppress(BlockingIOError):
                received = connection.recv(65_536)
        connection.settimeout(PATIENCE)
        assert answer(received + rest(connection))[0] == 431


def test_a_head_below_the_limit_is_served(service: Service) -> None:
    with service.connect() as connection:
        connection.sendall(ALIVE + b"X-Long: " + b"x" * 60_000 + b"\r\nConnection: close\r\n\r\n")
        assert answer(rest(connection)) == (200, {"status": "ok"})


def test_requests_on_one_connection_are_all_answered(service: Service) -> None:
    with service.connect() as connection:
        connection.sendall((ALIVE + b"\r\n") * 5 + ALIVE + b"Connection: close\r\n\r\n")
        assert rest(connection).count(b"HTTP/1.1 200 ") == 6


OFFERS = (
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB",
    "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "connection: upgrade\r\nUPGRADE: TLS/1.3, other/7",
)


def body_of(draw: np.random.Generator, text: bytes) -> tuple[list[str], bytes]:
    """Framing headers of a body, and it: declared at once, or in chunks."""
    if draw.random() < 0.5:
        return [f"Content-Length: {len(text)}"], text
    cuts = sorted(draw.integers(1, len(text), 3).tolist())
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if a < b]
    return ["Transfer-Encoding: chunked"], b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in parts) + b"0\r\n\r\n"


def answers_to(service: Service, sent: bytes, draw: np.random.Generator | None) -> list[tuple[int, Any]]:
    """Statuses and problems of all answers to what is sent in pieces (None: whole) on one connection."""
    cuts = [] if draw is None else sorted(draw.integers(1, len(sent), 4).tolist())
    with service.connect() as connection:
        for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True):
            connection.sendall(sent[a:b])
            time.sleep(0.01 if cuts else 0.0)  # else the pieces would arrive together
        received = rest(connection)
    answers = received.split(b"HTTP/1.1 ")[1:]
    said = [json.loads(each.partition(b"\r\n\r\n")[2]) for each in answers]
    return [
        (int(each[:3]), {name: value for name, value in one.items() if name != "instance"})
        for each, one in zip(answers, said, strict=True)
    ]


@pytest.mark.parametrize("seed", seeds(10))
def test_a_request_that_offers_another_protocol_is_answered_as_without_the_offer(service: Service, seed: int) -> None:
    """Java's and curl's clients offer HTTP/2 in each request: a body and what follows it are read all the same."""
    draw = np.random.default_rng([seed, 45])
    plain, offering = b"", b""
    for number in range(3):
        text = json.dumps({"method": "boxes", "dataset_id": f"ds_{number}", "k": 0, "quasi_identifiers": []}).encode()
        framing, body = body_of(draw, text)
        offer = str(draw.choice(OFFERS))
        if draw.random() < 0.3:
            plain += ALIVE + b"\r\n"
            offering += ALIVE + offer.encode() + b"\r\n\r\n"
        else:
            plain += service.submission(*framing) + body
            offering += service.submission(*framing, offer) + body
    expected = answers_to(service, plain, None)
    assert len(expected) == 3
    assert answers_to(service, offering, None) == expected
    assert answers_to(service, offering, draw) == expected


def test_a_head_that_is_not_whole_in_time_is_told_so(service: Service) -> None:
    status, problem = service.exchange(ALIVE)
    assert (status, problem["type"]) == (408, "/problems/request-timeout")


@pytest.mark.parametrize("before", [b"", ALIVE + b"\r\n"], ids=["first", "second"])
def test_sending_it_byte_by_byte_wins_no_time(service: Service, before: bytes) -> None:
    with service.connect() as connection:
        connection.sendall(before)
        received = connection.recv(65_536) if before else b""
        assert received.startswith(b"HTTP/1.1 200 " if before else b"")
        connection.sendall(ALIVE + b"X-Slow: ")
        assert answer(trickle(connection, every=0.1))[0] == 408


def trickle(connection: socket.socket, *, every: float, pieces: int = 10_000) -> bytes:
    """Send a byte now and then; what is answered by the time the connection ends, or all bytes are sent."""
    received = b""
    connection.settimeout(every)
    for _ in range(pieces):
        try:
            connection.send(b" ")
            piece = connection.recv(65_536)
        except TimeoutError:
            continue
        except ConnectionError:
            return received
        if not piece:
            return received
        received += piece
    return received


def test_a_connection_without_a_request_is_closed_without_a_word(service: Service) -> None:
    with service.connect() as connection:
        assert rest(connection) == b""


def test_a_connection_is_closed_after_its_last_answer(service: Service) -> None:
    with service.connect() as connection:
        connection.sendall(ALIVE + b"\r\n")
        assert answer(rest(connection)) == (200, {"status": "ok"})


def test_a_body_that_stands_still_is_told_so(service: Service) -> None:
    status, problem = service.exchange(service.submission("Content-Length: 100"), b'{"method": ')
    assert (status, problem["type"]) == (408, "/problems/request-timeout")


def test_a_slow_body_that_goes_on_is_waited_for(service: Service) -> None:
    """Twice as long as it may stand still; the body is blank in the end, which is what is answered."""
    pieces = int(2 * BODY_SECONDS / 0.5)
    with service.connect() as connection:
        connection.sendall(service.submission(f"Content-Length: {pieces}", "Connection: close"))
        received = trickle(connection, every=0.5, pieces=pieces)
        connection.settimeout(PATIENCE)
        assert answer(received + rest(connection))[0] in {400, 422}


def test_a_body_that_nobody_waits_for_holds_no_connection(service: Service) -> None:
    with service.connect() as connection:
        connection.sendall(b"POST /v1/anonymizations HTTP/1.1\r\nHost: here\r\nContent-Length: 10000000\r\n\r\n")
        assert answer(trickle(connection, every=0.1))[0] == 401


@pytest.mark.parametrize("expects", [(), ("Expect: 100-continue",)], ids=["sends", "waits"])
@pytest.mark.parametrize(
    ("path", "media_type"), [("/v1/datasets", "text/csv"), ("/v1/anonymizations", "application/json")]
)
def test_a_body_that_is_declared_too_long_is_refused_at_once_and_hung_up_on(
    service: Service, path: str, media_type: str, expects: tuple[str, ...]
) -> None:
    head = service.submission("Content-Length: 10000000000", *expects, path=path, media_type=media_type)
    with service.connect() as connection:
        connection.sendall(head)
        if not expects:
            connection.sendall(b"a")
        received = rest(connection)
        status, problem = answer(received)
    assert (status, problem["type"]) == (413, "/problems/too-large")
    assert (b"content-type: application/problem+json" in received, b"connection: close" in received) == (True, True)


def test_a_body_without_a_length_is_refused_at_the_first_byte_above_the_limit(service: Service) -> None:
    """Its sender stops there, in the middle of a block, and waits."""
    head = service.submission("Transfer-Encoding: chunked", path="/v1/datasets", media_type="text/csv")
    with service.connect() as connection:
        connection.sendall(head + b"2dc6c1\r\n" + b"1234,67\n" * 375_000)
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(PATIENCE)
        connection.sendall(b"1")
        received = rest(connection)
    assert answer(received)[0] == 413
    assert b"connection: close" in received


def test_a_client_that_goes_on_sending_what_was_refused_is_cut_off(service: Service) -> None:
    head = service.submission("Content-Length: 10000000000", path="/v1/datasets", media_type="text/csv")
    sent = 0
    with service.connect() as connection, suppress(ConnectionError):
        connection.sendall(head)
        while sent < 10_000_000_000:
            sent += connection.send(MUCH)
    assert sent < 200_000_000


def test_a_short_body_that_was_refused_costs_no_connection(service: Service) -> None:
    refused = b"POST /v1/anonymizations HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n"
    with service.connect() as connection:
        connection.sendall(refused)
        received = b""
        while b"}" not in received:
            received += connection.recv(65_536)
        assert answer(received)[0] == 401
        assert b"connection: close" not in received
        connection.sendall(b"0123456789" + ALIVE + b"Connection: close\r\n\r\n")
        assert answer(rest(connection)) == (200, {"status": "ok"})


def test_many_slow_connections_keep_nobody_out(service: Service) -> None:
    slow = [service.connect() for _ in range(300)]
    try:
        for connection in slow:
            connection.sendall(ALIVE)
        assert service.exchange(ALIVE + b"Connection: close\r\n\r\n")[0] == 200
        assert {answer(rest(connection))[0] for connection in slow} == {408}
    finally:
        for connection in slow:
            connection.close()
