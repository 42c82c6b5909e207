"""Why a server's certificate was refused, in words of ours: what drivers state differs by driver and version."""

from typing import Final

#: By a part of what libpq, Python's `ssl` and rustls state. The first that fits holds: a wrong name is named as such.
_FAULTS: Final = {
    "does not match host name": "has a certificate for another host name than the address has",
    "Hostname mismatch": "has a certificate for another host name than the address has",
    "IP address mismatch": "has a certificate for another host name than the address has",
    "not valid for name": "has a certificate for another host name than the address has",
    "NotValidForName": "has a certificate for another host name than the address has",
    "root certificate file": "cannot be checked: the file of authorities (`sslrootcert`) cannot be read",
    "certificate has expired": "has a certificate that has expired",
    "CERTIFICATE_VERIFY_FAILED": "has a certificate that no authority has signed which is trusted here",
    "certificate verify failed": "has a certificate that no authority has signed which is trusted here",
    "UnknownIssuer": "has a certificate that no authority has signed which is trusted here",
    "InvalidCertificate": "has a certificate that is not valid",
    "InvalidContentType": "does not speak TLS, and the address asks for it",
    "server does not support SSL": "does not speak TLS, and the address asks for it",
    "WRONG_VERSION_NUMBER": "does not speak TLS, and the address asks for it",
    "record layer failure": "does not speak TLS, and the address asks for it",
}


def certificate_fault(error: BaseException) -> str | None:
    """The faults of the certificate of the server that an error is about; None where it is about something else.

    Parameters
    ----------
    error
        As the driver has raised it; what it comes from is looked at as well.
    """
    seen: BaseException | None = error
    words = ""
    while seen is not None:
        words += str(seen)
        seen = seen.__cause__ or seen.__context__
    return next((fault for sign, fault in _FAULTS.items() if sign in words), None)
