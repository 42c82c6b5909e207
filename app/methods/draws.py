"""Draws from the same data, for methods whose draws add up: when one more is refused, and how that is said."""

from typing import Final

from app.errors import FieldError, InfeasibleError

_FIELD: Final = "/method"


def wrong_repeat(published: int, *, allowed: bool) -> FieldError | None:
    """The faults of one more draw.

    Parameters
    ----------
    published
        Releases that were ever published of the same data.
    allowed
        Whether it was requested in full knowledge.
    """
    if not published or allowed:
        return None
    return FieldError(
        _FIELD,
        f"these data were released by `uncertain` {'once' if published == 1 else f'{published} times'} before: "
        f"the noise of {published + 1} draws averages out, and fewer than k records fit all of them. "
        "Publish no other draw: the one that is published answers counts and classes",
    )


def refuse_repeat(published: int, *, allowed: bool, made_as: int | None = None) -> None:
    """End a job that would publish a draw too many, or that states about itself which draw it is and no longer is it.

    Parameters
    ----------
    published, allowed
        As for `wrong_repeat`.
    made_as
        Which draw its result states it is; None where that is not known yet.

    Raises
    ------
    InfeasibleError
        With what would work.
    """
    wrong = wrong_repeat(published, allowed=allowed)
    if wrong is None and made_as is not None and made_as != published + 1:
        wrong = FieldError(
            _FIELD,
            "another job published these data while this one ran, and what this one states about all draws together no "
            "longer holds: ask again",
        )
    if wrong is not None:
        raise InfeasibleError(wrong.detail, errors=[wrong])
