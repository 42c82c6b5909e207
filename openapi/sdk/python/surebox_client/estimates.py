"""What follows from a release alone, by surebox-verify, which computes it here: ranges of statistics, and a verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from surebox_client.errors import SureboxError
from surebox_client.rows import frame_of

if TYPE_CHECKING:
    from surebox_verify.report import Report

INSTALL: Final = "pip install 'surebox-client[verify]' from your index"


def estimates(data: bytes, form: str, certificate: bytes, statistics: Sequence[str] | None, ddof: int) -> Any:
    """A frame with a row for each number: its estimate, and the range that is certain to hold the released records'.

    Raises
    ------
    SureboxError
        The extra `verify` is not installed, or the release or a statistic cannot be read here.
    """
    try:
        from surebox_verify.envelope import UnreadableError
        from surebox_verify.estimated import estimated
    except ModuleNotFoundError as error:
        raise SureboxError(f"Ranges are computed by surebox-verify: {INSTALL}.") from error
    try:
        return frame_of(estimated(data, form, certificate, statistics, ddof))
    except UnreadableError as error:
        raise SureboxError(str(error)) from None


def verified(bundle: Path, keys: bytes) -> "Report":
    """The verdict on the archive of a release."""
    try:
        from surebox_verify.bundle import others_of, unpacked
        from surebox_verify.keys import read_keys
        from surebox_verify.timestamps import Given
        from surebox_verify.verification import verify
    except ModuleNotFoundError as error:
        raise SureboxError(f"Releases are verified by surebox-verify: {INSTALL}.") from error
    read = unpacked(bundle)
    known: Any = {
        "revocations": read.revocations,
        "timestamp": Given(read.timestamp),
        "others": others_of(bundle, read),
    }
    return verify(read.files, read.envelope or b"", read_keys(keys), **known)
