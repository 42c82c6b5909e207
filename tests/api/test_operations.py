"""`/metrics` and `/readyz` at an address of their own, and the page of `/docs` under its policy."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.embedded.broker import free_port
from app.settings import Settings
from tests import patient
from tests.embedded.test_cli import assert_one_line, surebox
from tests.processes import SECRET, processes


def test_what_is_the_operators_is_answered_at_its_own_address_only(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    port = free_port()
    with processes(tmp_path, database_url=database_url, redis_url=redis_url) as started:
        address, _ = started.api(SUREBOX_OPERATIONS_LISTEN=f"127.0.0.1:{port}")
        apart = f"http://127.0.0.1:{port}"
        for path in ("/metrics", "/readyz"):
            for pretending in ({}, {"Host": f"127.0.0.1:{port}"}, {"X-Forwarded-Port": str(port), "Forwarded": apart}):
                refused = patient.get(f"{address}{path}", headers=pretending)
                assert (refused.status_code, refused.json()["type"]) == (404, "/problems/not-found"), path
        assert patient.get(f"{apart}/metrics").status_code == 200
        assert "surebox_requests_total" in patient.get(f"{apart}/metrics").text
        assert patient.get(f"{apart}/readyz").status_code == 503  # there is no worker
        for path in ("/v1/jobs", "/docs", "/", "/openapi.json", "/nothing"):
            assert patient.get(f"{apart}{path}").status_code == 404, path
        assert {patient.get(f"{each}/healthz").status_code for each in (address, apart)} == {200}
        assert "health" not in patient.get(f"{address}/").json()
        assert patient.get(f"{address}/v1/jobs").status_code == 401


@pytest.mark.parametrize("where", ["9090", ":9090", "localhost", "localhost:x", "a b:1", "::1:9090"])
def test_an_address_that_is_none_is_refused(where: str) -> None:
    with pytest.raises(ValidationError, match="operations_listen"):
        Settings(operations_listen=where)


@pytest.mark.parametrize(
    ("where", "host"), [("127.0.0.1:9090", "127.0.0.1"), ("[::1]:9090", "::1"), ("a.b:9090", "a.b")]
)
def test_an_address_is_a_host_and_a_port(where: str, host: str) -> None:
    assert Settings(operations_listen=where).operations_address == (host, 9090)


def test_an_address_that_is_taken_or_the_public_one_is_refused(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    given = {
        "DATABASE_URL": database_url, "REDIS_URL": redis_url, "STORAGE_URL": f"file:{tmp_path}",
        "SUREBOX_SERVER_SECRET": SECRET,
    }  # fmt: skip
    port = free_port()
    same = surebox("serve", "--port", str(port), SUREBOX_OPERATIONS_LISTEN=f"127.0.0.1:{port}", **given)
    assert_one_line(same, "SUREBOX_OPERATIONS_LISTEN", "one of its own")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        done = surebox("serve", "--port", "0", SUREBOX_OPERATIONS_LISTEN=f"127.0.0.1:{number}", **given)
    assert_one_line(done, f"Cannot listen at 127.0.0.1 port {number}")


def test_the_page_of_docs_works_under_its_policy(
    browser: Any, database_url: str, redis_url: str, tmp_path: Path
) -> None:
    with processes(tmp_path, database_url=database_url, redis_url=redis_url) as started:
        address, _ = started.api()
        answer = patient.get(f"{address}/docs")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        page = browser.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.add_init_script("addEventListener('securitypolicyviolation', e => console.error(e.violatedDirective))")
        page.goto(f"{address}/docs")
        operation = page.locator("#operations-administration-get_health")
        operation.click()
        operation.locator(".try-out__btn").click()
        operation.locator(".execute").click()
        operation.locator(".live-responses-table .response-col_status").first.wait_for()
        status = operation.locator(".live-responses-table tbody .response-col_status")
        assert "200" in status.first.inner_text()
        assert said == [], json.dumps(said)
        page.close()
