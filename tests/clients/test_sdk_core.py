"""The core of the Python client without a socket: what it sends, and what it makes of answers of any version."""

import json
import threading
import warnings
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from surebox_client import AsyncSurebox, Surebox, errors, plans, steps
from surebox_client.errors import ConnectionFailedError, JobCancelled, JobFailed, SureboxError, WaitTimedOut
from surebox_client.frames import parquet_of
from surebox_client.handles import Handle, inputs
from surebox_client.http import settings
from surebox_client.progress import Progress
from surebox_client.steps import Answer, Body, Emit, Next, Plan, Send, Session, Sleep
from tests.meta.project import ROOT
from tests.tls import Authority, Terminator, terminating

QUIET = Progress(shown=False)


def answer(status: int, body: Any = None, **headers: str) -> Answer:
    made = Answer(status, {name.replace("_", "-"): value for name, value in headers.items()})
    made.content = json.dumps(body).encode()
    return made


def session(**known: Any) -> Session:
    """One that has compared versions."""
    made = Session()
    made.compared = True
    return made


def played(plan: Plan[Any], *outcomes: Any) -> tuple[list[Any], Any]:
    """The steps of a plan that is given these outcomes (of `Sleep`: nothing), and what it returns or raises."""
    taken: list[Any] = []
    left = [*outcomes]
    outcome: Any = None
    while True:
        try:
            step = plan.throw(outcome) if isinstance(outcome, BaseException) else plan.send(outcome)
        except StopIteration as stop:
            return taken, stop.value
        except SureboxError as error:
            return taken, error
        taken.append(step)
        outcome = None if isinstance(step, Sleep | Emit) else left.pop(0)


def job(**fields: Any) -> dict[str, Any]:
    progress = {"stage": "ranges", "fraction": 0.5}
    known = {
        "id": "job_1",
        "method": "boxes",
        "state": "running",
        "progress": progress,
        "release_id": None,
        "error": None,
    }
    return known | fields


def event(number: str, data: dict[str, Any]) -> bytes:
    """A server-sent event, as it comes over the wire."""
    return f"id: {number}\nevent: job\ndata: {json.dumps(data)}\n\n".encode()


def halves(piece: bytes) -> tuple[bytes, bytes]:
    return piece[: len(piece) // 2], piece[len(piece) // 2 :]


#: What keeps a connection open.
BREATH = b": alive\n\n"


def test_a_request_is_sent_again_under_its_key_as_the_service_says() -> None:
    busy = answer(429, {"type": "/problems/too-many-requests"}, retry_after="7")
    taken, made = played(
        session().call(Send("POST", "/v1/audits", json={})), ConnectionFailedError("gone"), busy, answer(202, {})
    )
    assert made.status == 202
    sent = [each for each in taken if isinstance(each, Send)]
    assert len({each.headers["Idempotency-Key"] for each in sent}) == 1
    first, second = (each.seconds for each in taken if isinstance(each, Sleep))
    assert 0 < first <= steps.FIRST_WAIT
    assert 7 <= second <= 7.5


@pytest.mark.parametrize("status", [502, 503, 504])
def test_five_tries_more_and_then_it_raises(status: int) -> None:
    taken, error = played(session().call(Send("GET", "/v1/jobs")), *[answer(status)] * 6)
    assert isinstance(error, errors.ProblemError)
    assert (error.status, len([each for each in taken if isinstance(each, Send)])) == (status, 6)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 500])
def test_what_another_try_cannot_mend_is_raised_at_once(status: int) -> None:
    taken, error = played(session().call(Send("GET", "/v1/jobs")), answer(status, {"status": status, "title": "No"}))
    assert len(taken) == 1
    assert isinstance(error, errors.ProblemError)


def test_a_request_in_flight_is_waited_for() -> None:
    in_flight = answer(409, {"type": "/problems/request-in-flight", "status": 409}, retry_after="5")
    taken, made = played(session().call(Send("POST", "/v1/audits")), *[in_flight] * 12, answer(202, {}))
    assert made.status == 202
    assert sum(each.seconds for each in taken if isinstance(each, Sleep)) >= 60, "the service forgets it after a minute"


def test_a_stream_is_sent_once() -> None:
    body = Body(lambda: iter([b"1"]), "text/csv", rewindable=False)
    taken, error = played(session().call(Send("POST", "/v1/datasets", body=body)), ConnectionFailedError("gone"))
    assert len(taken) == 1
    assert "cannot be rewound" in error.__notes__[0]


def test_an_error_has_pointers_and_the_remedy_that_the_service_says() -> None:
    wrong = {"type": "/problems/invalid", "status": 422, "title": "The request is not valid", "detail": "k is 1"}
    pointed = answer(422, wrong | {"errors": [{"pointer": "/k", "detail": "at least 2"}]})
    taken, error = played(session().call(Send("POST", "/v1/audits")), pointed, answer(200, {"remedy": "Mend it."}))
    assert taken[-1] == Send("GET", "/problems/invalid")
    assert isinstance(error, errors.InvalidError)
    assert str(error).splitlines()[1:] == ["  /k: at least 2", "What to do: Mend it."]


@pytest.mark.parametrize(("version", "said"), [("0.2.0", "newer"), ("0.0.9", "older"), ("0.1.7", None), ("", None)])
def test_a_service_of_another_version_is_said_once(version: str, said: str | None) -> None:
    known = Session()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for opening in ([answer(200, {"version": version})], []):
            played(known.call(Send("GET", "/v1/jobs")), *opening, answer(200, {}))
    assert [str(each.message).split()[4] for each in caught] == ([] if said is None else [said])


def test_an_answer_of_a_later_version_is_taken_as_it_is() -> None:
    later = job(state="paused", method="boxes_of_tomorrow", since=3)
    done = later | {"state": "succeeded", "result": {"method": "boxes_of_tomorrow", "glory": 1}}
    events = [answer(200), *halves(event("1", later)), BREATH, event("2", done), None, None]
    taken, made = played(plans.wait(session(), later, None, QUIET), answer(200, later), *events)
    assert made == done
    assert taken[0].headers == {"Prefer": "wait=2"}
    shown = repr(Handle(made))
    assert "boxes_of_tomorrow" in shown


def test_a_broken_stream_is_gone_on_with_after_the_last_event() -> None:
    running, done = job(), job(state="succeeded")
    first = [answer(200), event("7", running), ConnectionFailedError("cut"), answer(200, running)]
    second = [answer(200), event("8", done), None, None]
    taken, made = played(plans.wait(session(), running, None, QUIET), answer(200, running), *first, *second)
    assert made["state"] == "succeeded"
    streams = [each for each in taken if isinstance(each, Send) and each.path.endswith("/events")]
    assert [each.headers.get("Last-Event-ID") for each in streams] == [None, "7"]


def test_where_events_are_held_back_the_job_is_read() -> None:
    silent = [answer(200), errors.SilentError("nothing"), answer(200, job())]
    taken, made = played(
        plans.wait(session(), job(), None, QUIET), answer(200, job()), *silent, answer(200, job(state="succeeded"))
    )
    assert made["state"] == "succeeded"
    assert [each.path for each in taken if isinstance(each, Send)].count("/v1/jobs/job_1/events") == 1


def test_where_waiting_is_cut_off_too_the_job_is_read_at_once() -> None:
    silent = [answer(200), errors.SilentError("nothing"), answer(504), answer(504)]
    taken, made = played(
        plans.wait(session(), job(), None, QUIET), answer(200, job()), *silent, answer(200, job(state="succeeded"))
    )
    assert made["state"] == "succeeded"
    assert [each for each in taken if isinstance(each, Send)][-1].headers == {}


def test_a_wait_ends_in_time_and_a_failure_is_raised() -> None:
    _, error = played(plans.wait(session(), job(), 0, QUIET), answer(200, job()))
    assert isinstance(error, WaitTimedOut)
    assert error.job["state"] == "running"
    why = {"type": "/problems/infeasible", "status": 422, "title": "No", "detail": "k is too large"}
    _, error = played(plans.wait(session(), job(), None, QUIET), answer(200, job(state="failed", error=why)))
    assert isinstance(error, JobFailed)
    assert isinstance(error.problem, errors.InfeasibleError)
    _, error = played(plans.wait(session(), job(), None, QUIET), answer(200, job(state="cancelled")))
    assert isinstance(error, JobCancelled)


def test_ctrl_c_leaves_the_job_and_prints_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plans.wait(session(), job(), None, QUIET)
    sent = plan.send(None)
    assert isinstance(sent, Send)
    with pytest.raises(KeyboardInterrupt):
        plan.throw(KeyboardInterrupt())
    assert "job_1" in capsys.readouterr().err


def test_pages_go_on_by_their_cursor() -> None:
    pages = [{"items": [1, 2], "next_cursor": "c"}, {"items": [3], "next_cursor": None}]
    taken, _ = played(session().pages("/v1/jobs", {"state": "failed"}), *[answer(200, each) for each in pages])
    assert [each.value for each in taken if isinstance(each, Emit)] == [1, 2, 3]
    sent = [each.params for each in taken if isinstance(each, Send)]
    assert sent == [{"state": "failed"}, {"state": "failed", "cursor": "c"}]


def test_a_specification_is_written_with_ids_and_statistics_as_objects() -> None:
    spec = {"dataset_id": Handle({"id": "ds_1"}), "statistics": ["mean(wage)", {"kind": "share", "of": ["job"]}]}
    assert steps.wire(spec) == {
        "dataset_id": "ds_1",
        "statistics": [{"kind": "mean", "of": ["wage"]}, {"kind": "share", "of": ["job"]}],
    }
    assert inputs("rel_1", "ds_1", "rel_2") == {"release_ids": ["rel_1", "rel_2"], "dataset_ids": ["ds_1"]}


ORDER = ["low", "mid", "high"]
FRAMES: Mapping[str, Any] = {
    "polars": pl.DataFrame({"level": pl.Series(["high", "low", None], dtype=pl.Enum(ORDER)), "n": [1, None, 3]}),
    "pandas": pd.DataFrame(
        {
            "level": pd.Categorical(["high", "low", None], categories=ORDER, ordered=True),
            "n": pd.array([1, None, 3], dtype="Int64"),
        }
    ),
    "pyarrow": pa.table(
        {
            "level": pa.DictionaryArray.from_arrays(pa.array([2, 0, None]), pa.array(ORDER), ordered=True),
            "n": pa.array([1, None, 3]),
        }
    ),
}


@pytest.mark.parametrize("library", FRAMES)
def test_categories_keep_their_order_and_whole_numbers_stay_whole(library: str) -> None:
    data, orders = parquet_of(FRAMES[library])
    assert orders == {"level": ORDER}
    read = pl.read_parquet(data)
    assert read.schema == {"level": pl.String, "n": pl.Int64}
    assert read.rows() == [("high", 1), ("low", None), (None, 3)]


def test_what_is_no_frame_is_refused_by_its_type() -> None:
    with pytest.raises(errors.UploadError, match="dict"):
        parquet_of({"a": [1]})


def test_no_proxy_stands_between_a_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.delenv("SUREBOX_URL", raising=False)
    for host in ("http://127.0.0.1:8000", "http://localhost", "http://[::1]:8000"):
        assert settings(host, "k", None, 1)["trust_env"] is False
    assert settings("https://surebox.example.org", "k", None, 1)["trust_env"] is True
    with pytest.raises(SureboxError, match="SUREBOX_URL"):
        settings(None, None, None, 1)


def test_a_stream_that_is_refused_is_read_for_its_reason() -> None:
    refused = answer(429, None, retry_after="999")
    refused.content, refused.held = b"", object()
    pieces = [json.dumps({"type": "/problems/too-many-requests", "title": "No"}).encode(), None]
    taken, error = played(
        session().call(Send("GET", "/v1/jobs/1/events", stream=True)), refused, *pieces, answer(200, {})
    )
    assert isinstance(error, errors.TooManyRequestsError)
    assert error.retry_after == 999
    assert [type(each) for each in taken] == [Send, Next, Next, Send]


def test_every_method_of_the_document_is_a_function_and_a_type() -> None:
    schemas = json.loads((ROOT / "openapi" / "openapi.json").read_text())["components"]["schemas"]
    audits, others = (schemas[each]["discriminator"]["mapping"] for each in ("AuditRequest", "AnonymizationRequest"))
    assert len(audits | others) > 10
    for method, reference in (audits | others).items():
        for client in (Surebox, AsyncSurebox):
            (options,) = (each for name, each in getattr(client, method).__annotations__.items() if name == "options")
            assert reference.rpartition("/")[2].replace("Request", "Options") in options


def test_progress_is_shown_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    for shown, lines in ((None, ""), (True, "\r[############............]  50% half\n")):
        progress = Progress(shown)
        for _ in range(2):
            progress.update(0.5, "half")
        progress.end()
        assert capsys.readouterr().err == lines


class Start(BaseHTTPRequestHandler):
    """Answers each request with its path."""

    def do_GET(self) -> None:
        body = json.dumps({"path": self.path} if self.path != "/" else {"version": "0.1.0"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        pass


def test_an_authority_of_your_own_is_trusted_where_it_is_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "own")
    with ThreadingHTTPServer(("127.0.0.1", 0), Start) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        end = Terminator(authority.context("localhost"), to=server.server_port)
        with terminating(end):
            address = f"https://localhost:{end.port}"
            with Surebox(address, key="k", ca_file=authority.file) as trusting:
                assert trusting.get("/v1/owner") == {"path": "/v1/owner"}
            with Surebox(address, key="k") as strict, pytest.raises(ConnectionFailedError, match=r"(?i)certificate"):
                strict.run(strict.session.call(Send("GET", "/v1/owner"), retries=0))
        server.shutdown()
        serving.join(30)
