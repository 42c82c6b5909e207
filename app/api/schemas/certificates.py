"""What certificates and keys look like on the wire."""

from typing import Any, Final

from fastapi.responses import JSONResponse, Response
from pydantic import ConfigDict, Field

from app.api.schemas.releases import ARTIFACT
from app.contracts.base import Contract, may_lack


class EnvelopeSignature(Contract):
    """One signature of an envelope."""

    keyid: str = Field(description="Id of the key, as in the key set.")
    sig: str = Field(description="Ed25519 over DSSE's PAE of type and payload, base64.")


class SignedEnvelope(Contract):
    """A signed DSSE envelope with its payload."""

    payload: str = Field(description="Base64; of a certificate an in-toto Statement v1 in canonical JSON (RFC 8785).")
    payloadType: str = Field(description="Media type of the payload.")  # noqa: N815 - the name in DSSE
    signatures: tuple[EnvelopeSignature, ...] = Field(description="One a key that signed.")


class RevokedKey(Contract):
    """That a key must not be trusted any more."""

    revoked_at: int = Field(description="Time of the revocation, in seconds since 1970.")
    reason: str = Field(description="Reason that was given.")


class PublicKey(Contract):
    """One public key (RFC 8037), with the times in which it signs."""

    model_config = ConfigDict(json_schema_extra=may_lack("exp", "revoked"))

    kty: str = Field(description="Key type, always `OKP`.")
    crv: str = Field(description="Curve, always `Ed25519`.")
    x: str = Field(description="Public key in base64url.")
    use: str = Field(description="Use of the key, always `sig`.")
    alg: str = Field(description="Signature algorithm of the key, always `EdDSA`.")
    kid: str = Field(description="Id of the key: its RFC 7638 thumbprint.")
    iat: int = Field(description="It signs since then, seconds since 1970.")
    exp: int | None = Field(default=None, description="It signs nothing from then on; absent while not replaced.")
    revoked: RevokedKey | None = Field(
        default=None, description="Revocation of the key: trust nothing that it signed. Absent otherwise."
    )


class KeySet(Contract):
    """Public keys as a JWK set."""

    keys: tuple[PublicKey, ...] = Field(description="Every key that ever signed, newest first.")


class EnvelopeResponse(JSONResponse):
    """An answer that is an envelope, as it was signed."""

    media_type = "application/vnd.dsse.envelope.v1+json"

    def render(self, content: bytes) -> bytes:
        """The bytes as they are."""
        return content


class TimestampResponse(Response):
    """An answer of a timestamping authority, as it came."""

    media_type = "application/timestamp-reply"


TIMESTAMP: Final[dict[str, Any]] = {
    "description": "The authority's answer, byte for byte.",
    "content": {TimestampResponse.media_type: {"schema": {"type": "string", "format": "binary"}}},
    **ARTIFACT,
}
ENVELOPE: Final[dict[str, Any]] = {"description": "The signed DSSE envelope with its payload.", **ARTIFACT}
