"""A relay in front of a service that behaves as bad proxies do: it cuts downloads, and holds events back."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_HEAD = re.compile(rb"\r\n\r\n")


@dataclass
class Relay:
    """What it does, and what it has seen."""

    upstream: tuple[str, int]
    cut_after: int | None = None
    hold_events: bool = False
    requests: list[str] = field(default_factory=list)
    cut: int = 0
    address: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(*self.upstream)
        asking = asyncio.ensure_future(self._forward(reader, up_writer))
        try:
            await self._answer(up_reader, writer)
        finally:
            asking.cancel()
            for each in (writer, up_writer):
                each.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                line = data.split(b"\r\n", 1)[0].decode("latin-1")
                if line.endswith("HTTP/1.1"):
                    ranged = re.search(rb"(?im)^range: (\S+)", data)
                    self.requests.append(line[:-9] + (f" {ranged[1].decode()}" if ranged else ""))
                writer.write(data)
                await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            sent = 0
            while data := await reader.read(1 << 12):
                newest = self.requests[-1] if self.requests else ""
                if self.hold_events and "/events" in newest:
                    await asyncio.sleep(3600)
                sent = sent + len(data) if "/data" in newest else 0
                if self.cut_after is not None and sent > self.cut_after:
                    writer.write(data[: max(0, self.cut_after - (sent - len(data)))])
                    await writer.drain()
                    self.cut += 1
                    return
                writer.write(data)
                await writer.drain()


@contextmanager
def relaying(address: str, **behaviour: object) -> Iterator[Relay]:
    """A relay to a service, in a thread of its own."""
    host, _, port = address.removeprefix("http://").partition(":")
    relay = Relay((host, int(port)), **behaviour)  # type: ignore[arg-type]
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def main() -> None:
        server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
        relay.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started.set()
        await stop.wait()
        server.close()

    async def end() -> None:
        stop.set()

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield relay
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop)
        thread.join(30)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop), return_exceptions=True))
        loop.close()
