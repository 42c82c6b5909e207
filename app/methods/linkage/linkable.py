"""Which releases the linkage audit can be made on: of their rows it is known which records they stand for."""

from typing import Final

from app.contracts.inputs import ReleaseInput

#: Records and boxes find each other; of rows of all other methods it has to be written which record they stand for.
_LINKED_BY_VALUES: Final = "boxes"


def unlinked(base: str | None, previous: str | None) -> str | None:
    """Why rows of a release stand for no records: of the base of its series, or of the version before it."""
    if base is not None:
        return f"it was made from {base} alone and tells no more than that one, which can be linked: name it"
    if previous is not None:
        return f"a new version shows rows of several versions in the boxes of {previous}: link the first one"
    return None


def unfit(release: ReleaseInput) -> str | None:
    """Why it is not known which record a row of a release stands for."""
    if release.method != _LINKED_BY_VALUES and not release.linked:
        return (
            "it is no longer known which record each row of this release stands for: its job or its original was "
            "deleted; make the release again to audit it"
        )
    return unlinked(release.base, release.previous)
