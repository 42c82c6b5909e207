"""From the name of a method to the method."""

from app.contracts.jobs import JobKind
from app.errors import InvalidError, meant
from app.methods.catalogue import METHODS, methods_of
from app.methods.method import Method


def find_method(name: object, *, kind: JobKind) -> Method:
    """Find the method that a body names.

    Raises
    ------
    InvalidError
        If there is no such method of this kind; says which there are.
    """
    known = sorted(built.name for built in methods_of(kind))
    names = f"the methods are: {', '.join(known)}"
    if isinstance(name, str) and name in known:
        return METHODS[name]
    detail = f"`method` is missing; {names}" if name is None else f"there is no such {kind}; {names}"
    if isinstance(name, str):
        detail += meant(name, known)
    raise InvalidError.at("/method", detail)
