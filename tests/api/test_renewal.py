"""Keys that their holders renew: one working line, whoever renews; as the API and the command line show it."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from sqlalchemy import text

from app.auth import renewal
from app.auth.authenticator import TTL_SECONDS
from app.auth.keys import KeyInfo, create_key, list_keys, revoke_key
from app.auth.principal import Scope
from app.contracts.owners import RenewedKey
from app.errors import InvalidError, KeyNotRenewableError, SureboxError, UnauthorizedError
from tests.api.conftest import Api

OWNER, RENEW = "/v1/owner", "/v1/owner/key/renew"
LIFE = timedelta(days=30)


def make(api: Api, *, life: timedelta | None = LIFE, renewals: timedelta | None = timedelta(days=365),
         scopes: tuple[str, ...] = ("admin",), now: datetime | None = None) -> tuple[KeyInfo, str]:  # fmt: skip
    """A new key of Alice."""
    now = now or datetime.now(UTC)
    return create_key(
        database=api.database, secret=api.settings.server_secret, owner="alice", scopes=scopes, name="nightly", now=now,
        expires_at=None if life is None else now + life, renewable_until=None if renewals is None else now + renewals,
    )  # fmt: skip


def renew(api: Api, key: str) -> httpx.Response:
    with api.client(key) as client:
        return client.post(RENEW)


def renewed(api: Api, key_id: str) -> RenewedKey:
    """Renew a key by the use case, beyond the seconds for which a process remembers a key."""
    return renewal.renew_key(
        database=api.database, secret=api.settings.server_secret, key_id=key_id, now=datetime.now(UTC)
    )


def works(api: Api, key: str) -> bool:
    """Return whether a key that no process has seen yet is let in."""
    with api.client(key) as client:
        return client.get(OWNER).status_code == 200


def known(api: Api) -> dict[str, KeyInfo]:
    return {each.id: each for each in list_keys(database=api.database)}


def logged(api: Api, key: str) -> list[tuple[str, str, str | None]]:
    """Action, subject and key of each entry about keys, oldest first."""
    with api.client(key) as client:
        items = client.get("/v1/log", params={"action": ["key_created", "key_renewed", "key_revoked"]}).json()["items"]
    return [(each["action"], each["subject"], each["key_id"]) for each in reversed(items)]


@pytest.mark.parametrize("scope", Scope)
def test_any_key_learns_when_it_ends(api: Api, scope: Scope) -> None:
    info, key = make(api, scopes=(scope.value,))
    with api.client(key) as client:
        mine = client.get(OWNER).json()["key"]
    assert (mine["id"], mine["name"], mine["scopes"]) == (info.id, "nightly", [scope.value])
    assert (datetime.fromisoformat(mine["expires_at"]), datetime.fromisoformat(mine["renewable_until"])) == (
        info.expires_at,
        info.renewable_until,
    )
    with api.client(api.make_key()) as client:
        assert (client.get(OWNER).json()["key"]["expires_at"], "key" in client.get(OWNER).json()) == (None, True)


def test_a_renewed_key_is_the_same_key_with_another_secret(api: Api) -> None:
    info, key = make(api, scopes=("jobs:read", "datasets:read"))
    before = datetime.now(UTC)
    answer = renew(api, key)
    new = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    assert (new["name"], new["scopes"], new["former_key_id"]) == (info.name, list(info.scopes), info.id)
    assert new["key"] != key
    assert new["id"] != info.id
    row, former = known(api)[new["id"]], known(api)[info.id]
    assert (row.owner, row.scopes, row.renewable_until) == ("alice", info.scopes, info.renewable_until)
    assert row.expires_at is not None
    assert before + LIFE <= row.expires_at <= datetime.now(UTC) + LIFE
    assert former.expires_at is not None
    assert timedelta(minutes=59) < former.expires_at - before <= timedelta(hours=1, seconds=30)
    assert datetime.fromisoformat(new["former_ends_at"]) == former.expires_at
    assert works(api, key)
    assert works(api, new["key"])
    assert logged(api, api.make_key())[:2] == [("key_created", info.id, None), ("key_renewed", new["id"], info.id)]


def test_no_renewal_goes_beyond_the_day_that_the_operator_gave(api: Api) -> None:
    """Over a whole line of renewals, each a second before its key ends."""
    now = datetime.now(UTC) - timedelta(days=99)
    info, _ = make(api, renewals=timedelta(days=100), now=now)
    end = now + timedelta(days=100)
    this, ends = info.id, [now + LIFE]
    for _ in range(12):
        with api.database.unit_of_work() as unit:  # the database's clock is today's: it goes on for the key
            still = {"id": this, "at": datetime.now(UTC) + timedelta(minutes=5)}
            unit.connection.execute(text("UPDATE api_key SET expires_at = :at WHERE id = :id"), still)
        at = min(ends[-1], end) - timedelta(seconds=1)
        new = renewal.renew_key(database=api.database, secret=api.settings.server_secret, key_id=this, now=at)
        assert new.expires_at is not None
        this = new.id
        ends.append(new.expires_at)
    assert max(ends) == ends[-1] == end
    assert ends[1] - (ends[0] - timedelta(seconds=1)) == LIFE


@pytest.mark.parametrize("ends_in", [timedelta(minutes=10), timedelta(days=2)])
def test_the_former_key_ends_within_the_hour_and_never_later_than_it_would_have(api: Api, ends_in: timedelta) -> None:
    info, key = make(api, life=ends_in)
    assert info.expires_at is not None
    new = renew(api, key).json()
    again = renew(api, key).json()
    for each in (new, again):
        assert datetime.fromisoformat(each["former_ends_at"]) <= min(
            info.expires_at, datetime.now(UTC) + renewal.OVERLAP
        )
    assert again["former_ends_at"] == new["former_ends_at"], "a later renewal does not move its end"


def test_keys_are_not_renewed_unless_they_were_made_so(api: Api) -> None:
    _, plain = make(api, renewals=None)
    refused = renew(api, plain)
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/key-not-renewable")
    assert len(known(api)) == 1
    for life in (None, timedelta(days=400)):
        with pytest.raises(InvalidError):
            make(api, life=life)


def test_a_lost_answer_locks_nobody_out(api: Api) -> None:
    _, key = make(api)
    lost, kept = renew(api, key).json(), renew(api, key).json()
    assert (works(api, lost["key"]), works(api, kept["key"])) == (False, True)
    assert logged(api, api.make_key())[2:4] == [
        ("key_revoked", lost["id"], kept["former_key_id"]),
        ("key_renewed", kept["id"], kept["former_key_id"]),
    ]


def test_of_the_holder_and_a_thief_the_second_is_refused_and_the_log_shows_it(api: Api) -> None:
    info, key = make(api)
    thiefs = renew(api, key).json()
    assert works(api, thiefs["key"])
    refused = renew(api, key)
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/key-not-renewable")
    assert thiefs["id"] in refused.json()["detail"]
    assert thiefs["key"] not in refused.text
    deeper = renew(api, thiefs["key"]).json()
    keeper = api.make_key()
    api.app.state.resources.tally.flush()
    with api.client(keeper) as client:
        (entry,) = client.get("/v1/log", params={"action": "refused"}).json()["items"]
    assert (entry["key_id"], entry["facts"]["route"]) == (info.id, RENEW)
    revoked = revoke_key(database=api.database, key_id=info.id, now=datetime.now(UTC))
    assert revoked == (info.id, thiefs["id"], deeper["id"])
    assert not works(api, deeper["key"])
    for each in revoked:
        with pytest.raises(UnauthorizedError):
            renewed(api, each)


def test_a_key_whose_replacement_was_revoked_is_not_renewed_again(api: Api) -> None:
    _, key = make(api)
    new = renew(api, key).json()
    revoke_key(database=api.database, key_id=new["id"], now=datetime.now(UTC))
    assert renew(api, key).status_code == 403
    assert works(api, key)


def test_a_key_that_has_just_expired_or_was_revoked_is_not_renewed_though_a_process_still_knows_it(api: Api) -> None:
    for ending in ("revoked_at = now()", "expires_at = now()"):
        info, key = make(api)
        assert works(api, key)  # from now on the process remembers it for some seconds
        assert TTL_SECONDS >= 1
        with api.database.unit_of_work() as unit:
            unit.connection.execute(text(f"UPDATE api_key SET {ending} WHERE id = :id"), {"id": info.id})
        assert renew(api, key).status_code == 401
        assert not [each for each in known(api).values() if each.renewed_from == info.id]


def test_a_key_that_renewed_itself_is_in_use_though_no_process_could_note_that(api: Api) -> None:
    """Else the one before takes it back, and with its own replacement there are two lines that work."""
    info, _ = make(api)
    second = renewed(api, info.id)
    renewed(api, second.id)
    with pytest.raises(KeyNotRenewableError, match="is in use"):
        renewed(api, info.id)


def test_an_idempotency_key_makes_nothing_that_shows_the_secret_again(api: Api) -> None:
    _, key = make(api)
    with api.client(key) as client:
        first, second = (client.post(RENEW, headers={"Idempotency-Key": "once"}).json() for _ in range(2))
    assert first["key"] != second["key"]
    with api.database.read() as connection:
        tables = connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars()
        stored = "".join(str(connection.execute(text(f'SELECT * FROM "{table}"')).all()) for table in tables)
    assert first["id"] in stored
    assert not any(secret in stored for secret in (first["key"], second["key"], key))


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Begin works at the same moment, and return the value or our error of each."""
    begin, came = threading.Barrier(count), [None] * count

    def do(number: int) -> None:
        begin.wait(60)
        try:
            came[number] = work(number)
        except SureboxError as error:
            came[number] = error  # type: ignore[call-overload] # the list is of anything

    threads = [threading.Thread(target=do, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
        assert not each.is_alive()
    return came


def test_of_renewals_at_once_one_key_works(api: Api) -> None:
    for _ in range(5):
        info, _ = make(api)
        made = at_once(4, lambda _, key=info.id: renewed(api, key))  # type: ignore[misc] # binds the loop's value
        assert len({each.id for each in made}) == 4
        rows = [known(api)[each.id] for each in made]
        assert [row.renewed_from for row in rows if row.revoked_at is None] == [info.id]


def test_a_revocation_ends_what_a_renewal_makes_at_the_same_moment(api: Api) -> None:
    for _ in range(10):
        info, _ = make(api)

        def work(number: int, key: str = info.id) -> Any:
            if number:
                return revoke_key(database=api.database, key_id=key, now=datetime.now(UTC))
            return renewed(api, key)

        made, revoked = at_once(2, work)
        assert info.id in revoked
        if isinstance(made, UnauthorizedError):
            assert revoked == (info.id,)
        else:
            assert not isinstance(made, KeyNotRenewableError)
            assert known(api)[made.id].revoked_at is not None


def begin(url: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Begin `surebox login` with a home of its own."""
    command = [sys.executable, "-m", "surebox_client.commands", "login", "--url", url, *arguments]
    environment = {"XDG_CONFIG_HOME": str(folder / "config"), "HOME": str(folder), "PATH": ""}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **pipes)  # type: ignore[call-overload,no-any-return]


@contextmanager
def command_line(api: Api, folder: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Runs `surebox login` with a home of its own."""

    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        with begin(api.url, folder, *arguments) as running:
            out, err = running.communicate(stdin, timeout=60)
        return subprocess.CompletedProcess(arguments, running.returncode, out, err)

    yield run


class Between(BaseHTTPRequestHandler):
    """Passes requests on, and loses the answer by which the new key's holder learns that it works."""

    to: ClassVar[str]
    lost: ClassVar[Callable[["Between"], None]]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        answer = httpx.request(self.command, self.to + self.path, headers=headers, content=body)
        if self.path == OWNER:
            type(self).lost(self)
            return
        self.send_response(answer.status_code)
        self.answer(answer.content, answer.headers["content-type"])

    do_POST = do_GET  # noqa: N815 - as the base class calls it

    def answer(self, body: bytes, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self) -> None:
        self.send_response(500)
        self.answer(b"<html>no</html>", "text/html")

    def ask_for_patience(self) -> None:
        self.send_response(429)
        self.send_header("Retry-After", "1000")
        self.answer(b"<html>later</html>", "text/html")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def between(api: Api, lost: Callable[[Between], None]) -> Iterator[str]:
    """Stand between the command line and the service; gives the address."""
    handler = type("Handler", (Between,), {"to": api.url, "lost": staticmethod(lost)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(60)


@pytest.mark.parametrize("lost", [Between.fail, Between.ask_for_patience])
def test_a_new_key_is_kept_though_no_answer_states_that_it_works(
    api: Api, tmp_path: Path, lost: Callable[[Between], None]
) -> None:
    """The service has seen it by then, and renews the old one no more."""
    _, key = make(api)
    file = tmp_path / "key.txt"
    file.write_text(key)
    with between(api, lost) as url, begin(url, tmp_path, "--renew", "--key-file", str(file)) as running:
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out.strip()) == (0, str(file)), err
    assert "did not confirm" in err
    assert renew(api, key).status_code == 403, "the test needs a service that saw the new key"
    assert file.read_text().strip() != key
    assert works(api, file.read_text().strip())
    assert [each.name for each in tmp_path.glob("key.txt*")] == ["key.txt"]
    assert not re.search(r"sb_", out + err)


def test_a_renewal_that_is_interrupted_keeps_the_key_that_the_service_has_seen(api: Api, tmp_path: Path) -> None:
    _, key = make(api)
    file, reached, ended = tmp_path / "key.txt", threading.Event(), threading.Event()
    file.write_text(key)

    def hold(_: Between) -> None:
        reached.set()
        ended.wait(60)

    with between(api, hold) as url, begin(url, tmp_path, "--renew", "--key-file", str(file)) as running:
        assert reached.wait(60)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        ended.set()
    assert (running.returncode, "Interrupted" in err) == (130, True), err
    assert renew(api, key).status_code == 403
    assert file.read_text().strip() != key
    assert works(api, file.read_text().strip())


def test_a_new_key_that_another_renewal_took_back_does_not_replace_the_file(api: Api, tmp_path: Path) -> None:
    _, key = make(api)
    file = tmp_path / "key.txt"
    file.write_text(key)

    def refuse(request: Between) -> None:
        request.send_response(401)
        request.answer(b"{}", "application/json")

    with between(api, refuse) as url, begin(url, tmp_path, "--renew", "--key-file", str(file)) as running:
        running.communicate(timeout=60)
    assert (running.returncode, file.read_text()) == (4, key)
    assert [each.name for each in tmp_path.glob("key.txt*")] == ["key.txt"]


def test_the_command_line_renews_the_key_that_it_keeps(api: Api, tmp_path: Path) -> None:
    _, key = make(api, scopes=("jobs:read",))
    kept = tmp_path / "config" / "surebox" / "logins.json"
    with command_line(api, tmp_path) as login:
        assert login("--renew").returncode == 2
        assert login(stdin=key).returncode == 0
        done = login("--renew")
        assert (done.returncode, done.stdout.strip()) == (0, str(kept)), done.stderr
        (new,) = re.findall(r"sb_[\w-]{43}", kept.read_text())
        assert new != key
        assert not re.search(r"sb_", done.stdout + done.stderr)
        assert works(api, new)
        assert renew(api, key).status_code == 403, "the new key was used before it took the old one's place"
        file = tmp_path / "key.txt"
        file.write_text(new)
        done = login("--renew", "--key-file", str(file))
        assert (done.returncode, file.stat().st_mode & 0o777) == (0, 0o600), done.stderr
        assert works(api, file.read_text().strip())
        refused = login("--renew")
        assert (refused.returncode, new in kept.read_text()) == (4, True), refused.stderr
        assert sorted(each.name for each in kept.parent.iterdir()) == ["logins.json"]


def test_the_command_line_renews_nothing_that_it_could_not_keep(api: Api, tmp_path: Path) -> None:
    info, key = make(api)
    file = tmp_path / ("k" * 250)  # no name beside it is short enough
    file.write_text(key)
    with command_line(api, tmp_path) as login:
        refused = login("--renew", "--key-file", str(file))
    assert (refused.returncode, "cannot be written" in refused.stderr) == (2, True)
    assert known(api) == {info.id: info}
    assert file.read_text() == key
