"""Without `await`: written by `make sdk`, never edited."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from surebox_client import http
from surebox_client.steps import Answer, Close, Done, Emit, Next, Plan, Send, Sleep, Step, T, advance


class Driver:
    """Runs plans by a client of httpx.

    Parameters
    ----------
    settings : of the client.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.url = settings["base_url"]
        self._client = http.Client(**settings)

    def use_key(self, key: str) -> None:
        """Send another key from now on."""
        self._client.auth = http.authorization(key)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def run(self, plan: Plan[T]) -> T:
        """What a plan returns; what it emits nobody hears."""
        outcome = None
        while not isinstance(step := advance(plan, outcome), Done):
            outcome = self._tried(step)
        return cast("T", step.value)

    def iterate(self, plan: Plan[Any]) -> Iterator[Any]:
        """What a plan emits."""
        outcome = held = None
        try:
            while not isinstance(step := advance(plan, outcome), Done):
                if isinstance(step, Emit):
                    yield step.value
                outcome = self._tried(step)
                held = outcome if isinstance(outcome, Answer) and outcome.held else held
        finally:
            plan.close()
            if held is not None:
                self._tried(Close(held))

    def _tried(self, step: Step) -> Any:
        """What came of a step; an error is returned, for the plan to have it raised."""
        try:
            match step:
                case Sleep(seconds):
                    import time

                    time.sleep(seconds)
                case Send(body=body, stream=stream):
                    content = None if body is None else _pieces(body.chunks())
                    response = self._client.send(http.request(self._client, step, content), stream=True)
                    return http.answer(response, response.iter_bytes(), None if stream else response.read())
                case Next(answer):
                    return next(answer.held[1], None)
                case Close(answer):
                    answer.held[0].close()
        except http.TransportError as error:
            return http.failed(error)
        except KeyboardInterrupt as error:
            return error


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
    for each in chunks:
        yield each
