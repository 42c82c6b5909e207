"""Certificates of our own, and TLS in front of servers without it: those of the wheels are built without OpenSSL."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

#: What libpq sends first to ask for TLS (PostgreSQL, "SSLRequest").
SSL_REQUEST = bytes([0, 0, 0, 8, 4, 210, 22, 47])


class Authority:
    """An authority of certificates, in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Tests of {folder.name}")])
        self.file = folder / "authority.pem"
        signed = self._builder(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.file.write_bytes(signed.sign(self._key, SHA256()).public_bytes(Encoding.PEM))

    def context(self, host: str) -> ssl.SSLContext:
        """What a server of this host name speaks TLS with."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        signed = self._builder(name, key.public_key()).add_extension(names, critical=False).sign(self._key, SHA256())
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file = self._folder / f"{host}.pem"
        file.write_bytes(pem + signed.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        made = made.serial_number(x509.random_serial_number())
        return made.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))


class Terminator:
    """Ends TLS in front of a port of this machine; what is not TLS gets no answer."""

    def __init__(self, context: ssl.SSLContext, *, to: int, postgres: bool = False) -> None:
        self._context, self._to, self._postgres = context, to, postgres
        self.sessions = 0
        self.port = 0

    async def serve(self) -> asyncio.Server:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, ssl.SSLError, asyncio.IncompleteReadError):
                await self._forward(reader, writer)
        finally:
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._postgres:
            if await reader.readexactly(len(SSL_REQUEST)) != SSL_REQUEST:
                return
            writer.write(b"S")
            await writer.drain()
        await writer.start_tls(self._context)
        self.sessions += 1
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self._to)
        try:
            await asyncio.gather(_pump(reader, behind_writer), _pump(behind_reader, writer))
        finally:
            behind_writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with suppress(OSError, ssl.SSLError):
        writer.close()


@contextmanager
def terminating(*terminators: Terminator) -> Iterator[None]:
    """Serve them all from a thread of their own."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)  # clients that hang up are what is tested
    started = threading.Event()

    async def serve() -> list[asyncio.Server]:
        return [await each.serve() for each in terminators]

    def run() -> None:
        asyncio.set_event_loop(loop)
        servers = loop.run_until_complete(serve())
        started.set()
        loop.run_forever()
        for server in servers:
            server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(asyncio.sleep(0.1))  # transports close in a later turn of the loop
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
