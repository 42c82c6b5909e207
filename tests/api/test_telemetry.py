"""FastAPI's own telemetry stays off, whatever OpenTelemetry providers and variables the process has."""

import os
import subprocess
import sys

import pytest

PLANTED = "planted-4711"
#: Providers that print all they are given, as an SDK with an exporter would; FastAPI takes the global ones.
RECORDING = f"""
import asyncio, sys
import httpx
from fastapi import FastAPI
from opentelemetry import metrics, trace, _logs
from opentelemetry.trace import NonRecordingSpan, INVALID_SPAN_CONTEXT

class Span(NonRecordingSpan):
    def is_recording(self): return True
    def set_attribute(self, key, value): print("attribute", key, value)
    def set_attributes(self, attributes): print("attributes", attributes)
    def record_exception(self, exception, *rest, **more): print("exception", exception)

class Tracer(trace.Tracer):
    def start_span(self, name, *rest, attributes=None, **more):
        print("span", name, attributes)
        return Span(INVALID_SPAN_CONTEXT)
    def start_as_current_span(self, name, *rest, attributes=None, **more):
        return trace.use_span(self.start_span(name, attributes=attributes))

class Tracers(trace.TracerProvider):
    def get_tracer(self, *rest, **more): return Tracer()

class Logger(_logs.NoOpLogger):
    def emit(self, *rest, **more): print("record", rest, more)

class Loggers(_logs.LoggerProvider):
    def get_logger(self, *rest, **more): return Logger("recording")

trace.set_tracer_provider(Tracers())
_logs.set_logger_provider(Loggers())

async def ask(app):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        await client.get("/problems/absent", params={{"name": "{PLANTED}"}})
        await client.get("/jobs/{PLANTED}", params={{"limit": "{PLANTED}"}})

def theirs():
    app = FastAPI()
    @app.get("/jobs/{{job}}")
    async def get(job: str, limit: int) -> int: return limit
    return app

def ours():
    from app.main import create_app
    from app.settings import Settings
    return create_app(Settings(server_secret="s" * 40))

asyncio.run(ask(globals()[sys.argv[1]]()))
"""


@pytest.mark.parametrize("variables", [{}, {"FASTAPI_OTEL_AUTO_CONFIGURE": "true"}], ids=["default", "by variable"])
def test_no_query_reaches_a_span_or_a_record(variables: dict[str, str]) -> None:
    def recorded(app: str) -> str:
        command = [sys.executable, "-c", RECORDING, app]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60, env={**os.environ, **variables}
        )
        assert PLANTED not in done.stderr
        return done.stdout

    assert PLANTED in recorded("theirs"), "the providers record nothing: this test could not fail"
    ours = recorded("ours")
    assert PLANTED not in ours
    assert not any(line.startswith(("span", "attribute", "exception", "record")) for line in ours.splitlines())
