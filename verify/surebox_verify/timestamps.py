"""When an authority saw a certificate: its answer (RFC 3161), which is about the bytes of the envelope.

A time is `verified` by a root certificate of the authority, which the reader has from the authority; without one it is
`unchecked`, whatever the answer states about itself.
"""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.utils import CryptographyDeprecationWarning
from rfc3161_client import PKIStatus, TimeStampResponse, VerificationError, VerifierBuilder, decode_timestamp_response

from surebox_verify.envelope import UnreadableError

_DIGESTS = {"2.16.840.1.101.3.4.2.1": "sha256", "2.16.840.1.101.3.4.2.2": "sha384", "2.16.840.1.101.3.4.2.3": "sha512"}
#: What damaged certificates are answered with.
_DAMAGED = (
    ValueError, OverflowError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)  # fmt: skip
_APART = timedelta(minutes=5)  # of the service's clock and the authority's


class TimestampStatus(StrEnum):
    """What a timestamp is worth."""

    NONE = "none"
    UNCHECKED = "unchecked"
    VERIFIED = "verified"
    WRONG = "wrong"


@dataclass(frozen=True)
class Timestamp:
    """The findings about a timestamp; `at` is what it states, `why` is said where it is wrong or unchecked."""

    status: TimestampStatus
    at: datetime | None = None
    why: str | None = None


@dataclass(frozen=True)
class Given:
    """What a reader has of a timestamp.

    Attributes
    ----------
    answer : the authority's, if there is one.
    authority : its certificates, a root among them; None where the reader has none.
    required : whether the reader wants it checked: what cannot be is then a fault of the verdict.
    """

    answer: bytes | None = None
    authority: Sequence[x509.Certificate] | None = None
    required: bool = False


def read_authority(raw: bytes) -> list[x509.Certificate]:
    """Certificates of an authority: its root, and the certificates between the root and the signer.

    Parameters
    ----------
    raw : in PEM, one after the other.

    Raises
    ------
    UnreadableError
        They are none, or none of them is a root.
    """
    try:
        certificates = x509.load_pem_x509_certificates(raw)
    except ValueError:
        certificates = []
    if not any(_is_root(each) for each in certificates):
        msg = "the authority's certificates contain no root (one that signs itself) in PEM"
        raise UnreadableError(msg)
    return certificates


def check(given: Given, stamped: bytes, *, issued_at: datetime) -> Timestamp:
    """What a timestamp is worth.

    Parameters
    ----------
    given : the authority's answer, and what it is held against.
    stamped : the envelope, byte for byte as it is served.
    issued_at : when the certificate states that it was issued: no one saw it before.
    """
    if given.answer is None:
        return Timestamp(TimestampStatus.NONE, why="there is none")
    try:
        answer = decode_timestamp_response(given.answer)
        at, fault = answer.tst_info.gen_time, _fault(answer, stamped)
        if fault is None and at < issued_at - _APART:
            fault = f"it is of {at:%Y-%m-%d %H:%M} UTC, before the certificate was issued by what that states itself"
        if fault is not None:
            return Timestamp(TimestampStatus.WRONG, at, fault)
        if given.authority is None:
            return Timestamp(TimestampStatus.UNCHECKED, at, "no certificate of the authority was given")
        trusted = _signed(answer, given.authority)
    except _DAMAGED:
        return Timestamp(TimestampStatus.WRONG, None, "it cannot be read")
    if not trusted:
        return Timestamp(TimestampStatus.WRONG, at, "no authority of the certificates that were given signed it")
    return Timestamp(TimestampStatus.VERIFIED, at)


def _fault(answer: TimeStampResponse, stamped: bytes) -> str | None:
    """The faults of it, whoever signed."""
    if answer.status != PKIStatus.GRANTED:
        return "the authority gave none"
    imprint = answer.tst_info.message_imprint
    name = _DIGESTS.get(imprint.hash_algorithm.dotted_string)
    if name is None:
        return "its digest is none of SHA-256, SHA-384 and SHA-512"
    return None if hashlib.new(name, stamped).digest() == imprint.message else "it is about another file"


def _signed(answer: TimeStampResponse, authority: Sequence[x509.Certificate]) -> bool:
    """Whether one certificate that a root of the authority vouches for, for timestamps, signed it."""
    builder = VerifierBuilder(
        roots=[each for each in authority if _is_root(each)],
        intermediates=[each for each in authority if not _is_root(each)],
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CryptographyDeprecationWarning)  # damaged, and read for now
            held = [x509.load_der_x509_certificate(each) for each in answer.signed_data.certificates]
            if len({(each.issuer, each.serial_number) for each in held}) < len(held):
                return False  # two of one name: what signed and what may sign could be different ones
            return builder.build().verify(answer, answer.tst_info.message_imprint.message)
    except (VerificationError, CryptographyDeprecationWarning):
        return False


def _is_root(certificate: x509.Certificate) -> bool:
    return certificate.issuer == certificate.subject
