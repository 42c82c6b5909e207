"""The core without sockets: plans of requests and waits, as generators that a driver runs.

A plan yields steps and is sent what came of each; `driver.py` awaits, `blocking_driver.py` blocks.
"""

import json
import os
import random
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

from surebox_client import errors

T = TypeVar("T")
VERSION: Final = "0.1.0"
RETRIES: Final = 5
#: Seconds: of the first wait (doubled each time), of the longest, of a `Retry-After` that is still waited for.
FIRST_WAIT, LONGEST_WAIT, PATIENCE = 0.5, 8.0, 120.0
#: How often a request is sent that the service is still answering: it forgets one that broke off within a minute.
IN_FLIGHT_TRIES: Final = 24
#: Statuses that a proxy before the service answers with pages of its own.
_OF_PROXIES: Final = (401, 403, 407, 413, 429, 500, 502, 503, 504)
_SEND_A_KEY: Final = "Set SUREBOX_API_KEY, or run `surebox login` once."
_NOT_SUREBOX: Final = "The server at this address answers, but is not Surebox: check the address (--url, SUREBOX_URL)."


class Body(NamedTuple):
    """A body of an upload: `chunks` opens it; a stream that cannot be rewound is opened once."""

    chunks: Callable[[], Iterator[bytes]]
    media_type: str
    rewindable: bool = True
    size: int | None = None


class Send(NamedTuple):
    """A request; with `stream` the answer's body is left to `Next`."""

    method: str
    path: str
    params: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    json: Any = None
    body: Body | None = None
    stream: bool = False
    silence: float | None = None  # seconds after which a stream counts as broken


class Answer:
    """What came back; `held` is the driver's, of a body that is still to come."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes = b"", held: Any = None) -> None:
        self.status, self.headers, self.content, self.held = status, headers, content, held

    def json(self) -> Any:
        """The body, where it is JSON; else None."""
        try:
            return json.loads(self.content)
        except ValueError:
            return None


class Next(NamedTuple):
    """The next piece of a streamed body, None at its end."""

    answer: Answer


class Close(NamedTuple):
    """Let a streamed answer go."""

    answer: Answer


class Sleep(NamedTuple):
    """Wait."""

    seconds: float


class Emit(NamedTuple):
    """Hand a value to who iterates."""

    value: Any


class Done(NamedTuple):
    """A plan has come to its end."""

    value: Any


Step: TypeAlias = Send | Next | Close | Sleep | Emit
Plan: TypeAlias = Generator[Step, Any, T]


def advance(plan: Plan[Any], outcome: Any) -> Step | Done:
    """The next step of a plan after what came of the last one: a value, or an error that is raised in it."""
    try:
        return plan.throw(outcome) if isinstance(outcome, BaseException) else plan.send(outcome)
    except StopIteration as stop:
        return Done(stop.value)


class Session:
    """Memory between requests: whether versions were compared, and remedies of problems."""

    def __init__(self) -> None:
        self.compared = self.foreign = False
        self.remedies: dict[str, str] = {}

    def call(self, request: Send, *, retries: int = RETRIES) -> Plan[Answer]:
        """Send until there is an answer that is no refusal.

        Raises
        ------
        ConnectionFailedError, ProblemError
            At the last try, or at once where another would not help.
        """
        if not self.compared:
            self.compared = True
            yield from self._compare()
        if request.method == "POST":
            key = request.headers.get("Idempotency-Key") or os.urandom(16).hex()
            request = request._replace(headers={**request.headers, "Idempotency-Key": key})
        failures = in_flight = 0
        while True:
            try:
                answer: Answer = yield request
                if answer.status < 400:
                    return self._own(answer) if self.foreign else answer
                failure: errors.ConnectionFailedError | errors.ProblemError = yield from self._refusal(answer)
            except errors.ConnectionFailedError as error:
                failure = error
            if isinstance(failure, errors.RequestInFlightError) and in_flight < IN_FLIGHT_TRIES:
                in_flight += 1
            else:
                failures += 1
            wait = _wait(failure, failures)
            if wait is None or failures > retries:
                raise (yield from self._explained(failure))
            if request.body is not None and not request.body.rewindable:
                failure.add_note("The upload is a stream that cannot be rewound, so it was not sent again.")
                raise failure
            yield Sleep(wait)

    def get(self, path: str, **params: Any) -> Plan[Any]:
        """The JSON of an address."""
        return (yield from self.call(Send("GET", path, params=params))).json()

    def pages(self, path: str, params: Mapping[str, Any]) -> Plan[None]:
        """Emit what a list has, page by page."""
        while True:
            page = yield from self.get(path, **params)
            for each in page["items"]:
                yield Emit(each)
            if page.get("next_cursor") is None:
                return
            params = {**params, "cursor": page["next_cursor"]}

    def _refusal(self, answer: Answer) -> Plan[errors.ProblemError]:
        if answer.held is not None:
            while (piece := (yield Next(answer))) is not None:
                answer.content += piece
        problem = answer.json()
        if self.foreign and answer.status not in _OF_PROXIES and not _is_problem(problem):
            raise errors.NotSureboxError(_NOT_SUREBOX)
        if not isinstance(problem, dict):  # a proxy's page
            problem = {"title": f"The answer has status {answer.status} and no reason"}
        after = answer.headers.get("retry-after", "")
        return errors.problem_error({"status": answer.status, **problem}, float(after) if after.isdecimal() else None)

    def _own(self, answer: Answer) -> Answer:
        """The answer, if it is one that Surebox gives: JSON, or what is still to come.

        Raises
        ------
        NotSureboxError
            Another server has answered.
        """
        if answer.held is None and answer.content and not isinstance(answer.json(), dict):
            raise errors.NotSureboxError(_NOT_SUREBOX)
        return answer

    def _explained(self, failure: errors.ConnectionFailedError | errors.ProblemError) -> Plan[Exception]:
        """The error with what to do about it, as the service names it for problems of this type."""
        if not isinstance(failure, errors.ProblemError) or not _is_problem(failure.problem):
            return failure
        code = errors.code_of(failure.problem)
        if code not in self.remedies:
            try:
                kind = (yield Send("GET", f"/problems/{quote(code)}")).json()
            except errors.ConnectionFailedError:
                kind = None
            self.remedies[code] = str(kind.get("remedy") or "") if isinstance(kind, dict) else ""
        own = _SEND_A_KEY if isinstance(failure, errors.UnauthorizedError) else ""
        failure.remedy = " ".join(filter(None, (own, self.remedies[code])))
        return failure

    def _compare(self) -> Plan[None]:
        """Say once that the service is of another version than this client."""
        try:
            start = (yield Send("GET", "/", headers={"Accept": "application/json"})).json()
        except errors.ConnectionFailedError:
            return
        served = str(start.get("version") or "") if isinstance(start, dict) else ""
        self.foreign = not served  # a proxy may keep this page to itself: what comes next decides
        if self.foreign and isinstance(start, dict) and not _is_problem(start):
            raise errors.NotSureboxError(_NOT_SUREBOX)
        theirs, ours = (each.split(".")[:2] for each in (served, VERSION))
        if served and all(each.isdecimal() for each in theirs) and theirs != ours:
            age = "newer" if [*map(int, theirs)] > [*map(int, ours)] else "older"
            message = f"The service ({served}) is {age} than surebox-client ({VERSION}): install its version's client."
            warnings.warn(message, stacklevel=2)


def _wait(failure: errors.ConnectionFailedError | errors.ProblemError, failures: int) -> float | None:
    """Seconds until the next try; None where none would help."""
    if isinstance(failure, errors.ProblemError):
        again = failure.status in (429, 502, 503, 504) or isinstance(failure, errors.RequestInFlightError)
        if not again or (failure.retry_after or 0) > PATIENCE:
            return None
        if failure.retry_after is not None:
            return failure.retry_after + random.uniform(0, 0.5)  # noqa: S311 - so that not all come at once
    return random.uniform(0.5, 1) * min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (failures - 1))  # noqa: S311


def _is_problem(body: Any) -> bool:
    """Return whether a body is a problem of Surebox."""
    return isinstance(body, dict) and str(body.get("type", "")).startswith("/problems/")


def wire(value: Any) -> Any:
    """A specification as JSON has it: handles by their ids, statistics in words as objects, days as text."""
    from surebox_client._generated.statistics import parse_statistic

    if isinstance(value, Mapping):
        plain = {name: wire(each) for name, each in value.items()}
        if isinstance(words := plain.get("statistics"), list):
            plain["statistics"] = [parse_statistic(each) if isinstance(each, str) else each for each in words]
        return plain
    if isinstance(value, list | tuple):
        return [wire(each) for each in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.id if hasattr(value, "id") and hasattr(value, "data") else value
