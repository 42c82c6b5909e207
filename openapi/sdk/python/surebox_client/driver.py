"""Runs plans, awaiting; `blocking_driver.py` is the same without `await`, written by `make sdk`."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, cast

from surebox_client import http
from surebox_client.steps import Answer, Close, Done, Emit, Next, Plan, Send, Sleep, Step, T, advance


class AsyncDriver:
    """Runs plans by a client of httpx.

    Parameters
    ----------
    settings : of the client.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.url = settings["base_url"]
        self._client = http.AsyncClient(**settings)

    def use_key(self, key: str) -> None:
        """Send another key from now on."""
        self._client.auth = http.authorization(key)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def run(self, plan: Plan[T]) -> T:
        """What a plan returns; what it emits nobody hears."""
        outcome = None
        while not isinstance(step := advance(plan, outcome), Done):
            outcome = await self._tried(step)
        return cast("T", step.value)

    async def iterate(self, plan: Plan[Any]) -> AsyncIterator[Any]:
        """What a plan emits."""
        outcome = held = None
        try:
            while not isinstance(step := advance(plan, outcome), Done):
                if isinstance(step, Emit):
                    yield step.value
                outcome = await self._tried(step)
                held = outcome if isinstance(outcome, Answer) and outcome.held else held
        finally:
            plan.close()
            if held is not None:
                await self._tried(Close(held))

    async def _tried(self, step: Step) -> Any:
        """What came of a step; an error is returned, for the plan to have it raised."""
        try:
            match step:
                case Sleep(seconds):
                    import asyncio

                    await asyncio.sleep(seconds)
                case Send(body=body, stream=stream):
                    content = None if body is None else _pieces(body.chunks())
                    response = await self._client.send(http.request(self._client, step, content), stream=True)
                    return http.answer(response, response.aiter_bytes(), None if stream else await response.aread())
                case Next(answer):
                    return await anext(answer.held[1], None)
                case Close(answer):
                    await answer.held[0].aclose()
        except http.TransportError as error:
            return http.failed(error)
        except KeyboardInterrupt as error:
            return error


async def _pieces(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for each in chunks:
        yield each
