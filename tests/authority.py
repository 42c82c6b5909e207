"""A timestamping authority as there are others: OpenSSL answers, behind a small server that may also misbehave."""

import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CONFIGURATION = """
[tsa]
default_tsa = here
[here]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
ess_cert_id_alg = sha256
[time]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = critical,timeStamping
[web]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = serverAuth
"""
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


@dataclass(frozen=True)
class Authority:
    """An authority with a root of its own, in a folder."""

    folder: Path

    @classmethod
    def new(cls, folder: Path) -> "Authority":
        if shutil.which("openssl") is None:
            pytest.skip("openssl, which these timestamps come from, is not on this machine")
        folder.mkdir()
        made = cls(folder)
        (folder / "tsa.cnf").write_text(CONFIGURATION)
        (folder / "serial").write_text("01\n")
        made.openssl("req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=root")
        made.appoint("tsa", extensions="time")
        return made

    @property
    def root(self) -> Path:
        return self.folder / "ca.pem"

    def appoint(self, name: str, *, extensions: str) -> None:
        """A certificate that the root signs."""
        self.openssl("req", *CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "20"]
        usage = ["-extfile", "tsa.cnf", "-extensions", extensions]
        self.openssl("x509", "-req", "-in", f"{name}.csr", *signing, "-out", f"{name}.pem", *usage)

    def answer(self, query: bytes) -> bytes:
        """What it answers to a query."""
        (self.folder / "query").write_bytes(query)
        signer = ["-signer", "tsa.pem", "-inkey", "tsa.key"]
        self.openssl("ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", *signer, "-out", "answer")
        return (self.folder / "answer").read_bytes()

    def stamp(self, content: bytes, *, digest: str = "sha256") -> bytes:
        """A timestamp of some bytes."""
        (self.folder / "content").write_bytes(content)
        self.openssl("ts", "-query", "-data", "content", f"-{digest}", "-cert", "-out", "asked")
        return self.answer((self.folder / "asked").read_bytes())

    def finds_right(self, answer: bytes, content: bytes) -> bool:
        """Whether OpenSSL takes an answer for a timestamp of some bytes."""
        (self.folder / "shown").write_bytes(answer)
        (self.folder / "content").write_bytes(content)
        command = ["openssl", "ts", "-verify", "-in", "shown", "-data", "content", "-CAfile", "ca.pem"]
        return subprocess.run(command, cwd=self.folder, capture_output=True).returncode == 0

    def openssl(self, *arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@dataclass
class Desk:
    """Where an authority is asked: what it does with the next queries, and those that came."""

    url: str
    does: Callable[[bytes], bytes | int]
    queries: list[bytes]


@contextlib.contextmanager
def serving(does: Callable[[bytes], bytes | int], *, drip: float = 0.0) -> Iterator[Desk]:
    """Answer queries over HTTP: with bytes, or with a status; with `drip` a byte each so many seconds."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/timestamp-query"
            desk.queries.append(query)
            answer = desk.does(query)
            self.send_response(answer if isinstance(answer, int) else 200)
            body = b"" if isinstance(answer, int) else answer
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # who asked has hung up
                for part in [body[i : i + 1] for i in range(len(body))] if drip else [body]:
                    self.wfile.write(part)
                    time.sleep(drip)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    desk = Desk(f"http://127.0.0.1:{server.server_port}/tsr", does, [])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield desk
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
