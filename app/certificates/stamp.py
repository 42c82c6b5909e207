"""Timestamps of certificates: requested after publication, again and again until the authority gives them.

Publication knows nothing of it: an authority that is slow or gone delays timestamps and nothing else. By RFC 3161 over
HTTP the SHA-256 of a certificate goes, and a signed time comes back. The authority learns a digest of what no one can
guess, as it contains signatures, and the time of the request; of the release it learns nothing. Its answer is held
against the request before it is kept.
"""

import hashlib
import socket
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

import structlog
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from rfc3161_client import (
    HashAlgorithm,
    PKIStatus,
    TimeStampRequest,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from app.db.repositories import timestamps
from app.db.repositories.timestamps import Timestamp
from app.db.session import Database
from app.errors import CannotStartError, SureboxError
from app.settings import Settings

_AT_ONCE: Final = 500

log = structlog.get_logger(__name__)
QUERY: Final = "application/timestamp-query"
_LARGEST: Final = 65_536
_SHA256: Final = "2.16.840.1.101.3.4.2.1"


@dataclass(frozen=True, slots=True)
class Authority:
    """Whom to ask.

    Attributes
    ----------
    url : where, over HTTP.
    seconds : by when the answer is whole.
    trusted : its root, and certificates between; none: its signature is left to readers.
    """

    url: str
    seconds: float
    trusted: Sequence[x509.Certificate] = ()

    @classmethod
    def of(cls, settings: Settings) -> "Authority | None":
        """The authority of the settings, if there is one.

        Raises
        ------
        CannotStartError
            Its certificate cannot be read.
        """
        if not settings.timestamp_url:
            return None
        path = settings.timestamp_certificate_file
        try:
            trusted = [] if path is None else x509.load_pem_x509_certificates(path.read_bytes())
        except (OSError, ValueError):
            trusted = []
        if path is not None and not any(_is_root(each) for each in trusted):
            raise CannotStartError(f"SUREBOX_TIMESTAMP_CERTIFICATE_FILE={path} contains no root certificate in PEM.")
        return cls(settings.timestamp_url, settings.timestamp_timeout_seconds, trusted)

    def stamp(self, content: bytes) -> Timestamp:
        """Have the authority state that it saw some bytes, and when.

        Parameters
        ----------
        content
            The stamped content; only its digest leaves.

        Raises
        ------
        AuthorityError
            There is no answer, or it is not about these bytes.
        """
        request = TimestampRequestBuilder().data(content).hash_algorithm(HashAlgorithm.SHA256).build()
        token = _posted(self.url, request.as_bytes(), seconds=self.seconds)
        try:
            return Timestamp(token, _checked(request, decode_timestamp_response(token), content, self.trusted))
        except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion, x509.DuplicateExtension):
            raise AuthorityError("the answer is no timestamp") from None


def stamp_missing(*, database: Database, authority: Authority, stop: threading.Event) -> int:
    """Get the timestamps that are due; how many there were.

    Parameters
    ----------
    database
        Where certificates are.
    authority
        The authority. The first time it gives none ends the round: that request comes last in the next.
    stop
        Ends the round between two.
    """
    with database.read() as connection:
        waiting = timestamps.due(connection, limit=_AT_ONCE)
    count = 0
    for each in waiting:
        if stop.is_set():
            break
        try:
            timestamp = authority.stamp(each.envelope)
        except AuthorityError as error:
            log.warning("timestamp.none", release_id=each.release_id, why=str(error))
            with database.unit_of_work() as unit:
                timestamps.note_failure(unit.connection, release_id=each.release_id)
            break
        with database.unit_of_work() as unit:
            count += timestamps.keep(
                unit.connection, release_id=each.release_id, token=timestamp.token, at=timestamp.at
            )
    return count


class Stamping:
    """Rounds of it next to those of housekeeping, which wait for no authority."""

    def __init__(self, settings: Settings, *, database: Database) -> None:
        self._settings, self._database = settings, database
        self._round: threading.Thread | None = None

    def begin(self, stop: threading.Event) -> None:
        """Begin a round, unless one is going on."""
        if not self._settings.timestamp_url or (self._round is not None and self._round.is_alive()):
            return
        self._round = threading.Thread(target=self._stamp, args=(stop,), daemon=True, name="timestamps")
        self._round.start()

    def wait(self) -> None:
        """Until the round that is going on has ended."""
        if self._round is not None:
            self._round.join()

    def _stamp(self, stop: threading.Event) -> None:
        try:
            authority = Authority.of(self._settings)
            if authority is not None:
                stamped = stamp_missing(database=self._database, authority=authority, stop=stop)
                if stamped:
                    log.info("housekeeping.stamped", certificates=stamped)
        except SureboxError as error:  # the next round tries again
            log.warning("timestamp.unavailable", why=error.detail)
        except Exception as error:
            log.warning("timestamp.failed", error=type(error).__name__, exc_info=True)


class AuthorityError(Exception):
    """The authority gave no timestamp; the text states why."""


def _checked(
    request: TimeStampRequest, answer: TimeStampResponse, content: bytes, trusted: Sequence[x509.Certificate]
) -> datetime:
    """The time in an answer that fits its request."""
    if PKIStatus(answer.status) is not PKIStatus.GRANTED:
        raise AuthorityError(f"the authority refused: {PKIStatus(answer.status).name.lower()}")
    tst_info = answer.tst_info
    if tst_info.nonce != request.nonce:
        raise AuthorityError("the answer is to another question: its nonce is not the one that was sent")
    imprint = tst_info.message_imprint
    if (imprint.hash_algorithm.dotted_string, imprint.message) != (_SHA256, hashlib.sha256(content).digest()):
        raise AuthorityError("the answer is about other bytes: its imprint is not the one that was sent")
    if not answer.signed_data.certificates:
        raise AuthorityError("the answer does not contain the certificate of who signed it")
    if trusted:
        roots = [each for each in trusted if _is_root(each)]
        between = [each for each in trusted if not _is_root(each)]
        try:
            VerifierBuilder(roots=roots, intermediates=between).build().verify(answer, imprint.message)
        except (VerificationError, ValueError):
            raise AuthorityError("the answer is not signed by the authority of the certificate that is set") from None
    return tst_info.gen_time


def _is_root(certificate: x509.Certificate) -> bool:
    return certificate.issuer == certificate.subject


def _posted(url: str, body: bytes, *, seconds: float) -> bytes:
    """The body of the answer. However slowly it comes, the connection ends when its time has passed."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=seconds)) as connection:
            connection.connect()
            ended = threading.Timer(seconds, _hang_up, (connection.sock,))
            ended.start()
            try:
                connection.request("POST", path, body, {"Content-Type": QUERY})
                answer = connection.getresponse()
                if answer.status != HTTPStatus.OK:
                    raise AuthorityError(f"the authority answered {answer.status}")
                content = answer.read(_LARGEST + 1)
                if answer.length and len(content) <= _LARGEST:
                    raise TimeoutError
            finally:
                ended.cancel()
    except (OSError, HTTPException, ValueError) as error:
        raise AuthorityError(f"the authority cannot be reached in time ({type(error).__name__})") from None
    if len(content) > _LARGEST:
        raise AuthorityError("the answer is too long for a timestamp")
    return content


def _hang_up(connected: socket.socket) -> None:
    """End a connection under whoever waits for it."""
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)
