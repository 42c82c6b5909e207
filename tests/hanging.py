"""A TCP proxy before an S3 service that swallows some requests: they are accepted and never answered."""

import re
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

_BYTES = 1 << 16


class HangingProxy:
    """Passes bytes on in both directions; of a connection that sends a request that hangs nothing more is passed on.

    Parameters
    ----------
    target
        Address of the service.
    """

    def __init__(self, target: str) -> None:
        address = urlsplit(target)
        self._target = (str(address.hostname), int(address.port or 80))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._hangs: re.Pattern[bytes] | None = None
        self._sockets: list[socket.socket] = []
        self.swallowed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def hang(self, request: str) -> None:
        """Swallow requests whose first line begins like this regular expression."""
        self._hangs, self.swallowed = re.compile(request.encode()), 0

    def answer(self) -> None:
        """Swallow no more requests; those that hang are never answered."""
        self._hangs = None

    def stop(self) -> None:
        """Close every connection."""
        for each in (self._listening, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, requests: bool) -> None:
        hangs = False
        with suppress(OSError):
            while data := source.recv(_BYTES):
                pattern = self._hangs
                if requests and not hangs and pattern is not None and pattern.match(data):
                    hangs, self.swallowed = True, self.swallowed + 1
                if not hangs:
                    sink.sendall(data)
            if not hangs:
                sink.shutdown(socket.SHUT_WR)
