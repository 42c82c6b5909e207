"""From the name of a method to the method, if it is built."""

from app.contracts.jobs import JobKind
from app.contracts.method import Method
from app.contracts.methods import METHODS, NOT_BUILT, methods_of
from app.errors import FieldError, InvalidError, NotBuiltError, meant


def find_method(name: object, *, kind: JobKind) -> Method:
    """Find the method that a body names.

    Raises
    ------
    NotBuiltError
        If it is part of the contract, but not built.
    InvalidError
        If there is no such method of this kind; says which there are.
    """
    known = sorted(built.name for built in methods_of(kind))
    names = f"the methods are: {', '.join(known)}" if known else f"no {kind} is built yet"
    if isinstance(name, str) and name in known:
        return METHODS[name]
    if isinstance(name, str) and name in NOT_BUILT[kind]:
        detail = f"the {kind} `{name}` is not built yet; {names}"
        raise NotBuiltError(detail, errors=[FieldError("/method", detail)])
    detail = f"`method` is missing; {names}" if name is None else f"there is no such {kind}; {names}"
    if isinstance(name, str):
        detail += meant(name, known)
    raise InvalidError.at("/method", detail)
