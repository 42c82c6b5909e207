"""A client that keeps asking for jobs, as a release schedule would: every request is repeated until it is answered."""

import threading
import time
from dataclasses import dataclass, field
from itertools import count, cycle

import httpx

from tests import patient
from tests.drawing import LONG

RETRY_SECONDS = 60.0
#: Between two requests: each release is composed with all before it, so twice as many jobs take four times as long.
PAUSE_SECONDS = 0.25 if LONG else 1.0


@dataclass(slots=True)
class Load:
    """Submits jobs at several API processes in turn, until told to stop."""

    addresses: list[str]
    key: str
    spec: dict[str, object]
    accepted: dict[str, str] = field(default_factory=dict)  # idempotency key -> job
    problems: list[str] = field(default_factory=list)
    repeated: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(RETRY_SECONDS + 10)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        headers = {"Authorization": f"Bearer {self.key}"}
        addresses = cycle(self.addresses)
        with patient.Client(headers=headers, timeout=15) as http:
            for number in count():
                if self._stop.wait(PAUSE_SECONDS):
                    return
                name = f"load-{number}"
                self.accepted[name] = self._ask(http, addresses, name)

    def _ask(self, http: httpx.Client, addresses: "cycle[str]", name: str) -> str:
        """Ask until somebody answers; a restarting process costs a repetition, never a job."""
        deadline = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < deadline:
            try:
                answer = http.post(
                    f"{next(addresses)}/v1/anonymizations",
                    json=self.spec | {"tags": {"name": name}},
                    headers={"Idempotency-Key": name},
                )
            except httpx.TransportError:
                self.repeated += 1
                continue
            if answer.status_code == httpx.codes.ACCEPTED:
                return str(answer.json()["id"])
            if answer.status_code not in {409, 429, 503}:
                self.problems.append(f"{name}: {answer.status_code} {answer.text[:300]}")
                return ""
            self.repeated += 1
            time.sleep(min(2.0, float(answer.headers.get("retry-after", 0.5))))
        self.problems.append(f"{name}: not answered in {RETRY_SECONDS:g} s")
        return ""
