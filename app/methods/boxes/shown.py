"""Sensitive columns that a release publishes: those that are not withheld, as if they stood in `keep`.

`keep` of a stored specification has them: what is not in it is not published, also of specifications that are older
than `withheld`.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from app.contracts.inputs import ReleaseInput
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import FieldError, pointer
from app.methods.boxes.spec import BoxesSpec


def with_shown(spec: BoxesSpec, there: Collection[str], before: Collection[str] | None) -> BoxesSpec:
    """The specification with its published sensitive columns in `keep`.

    Parameters
    ----------
    spec
        As it was requested.
    there
        Columns of the data.
    before
        Columns that earlier publications of the same data show unchanged; None: there are none.
    """
    shown = [name for name in _added(spec, spec.sensitive) if name in there and (before is None or name in before)]
    return spec.model_copy(update={"keep": (*spec.keep, *shown)}) if shown else spec


def keep_of(spec: BoxesSpec, earlier: ReleaseInput) -> tuple[str, ...]:
    """`keep` with the sensitive columns that the earlier release shows, in its order where both have the same."""
    sensitive = spec.sensitive if "sensitive" in spec.model_fields_set else earlier.made.sensitive
    shown = [name for name in _added(spec, sensitive) if name in earlier.made.keep]
    keep = (*spec.keep, *shown)
    return earlier.made.keep if shown and set(keep) == set(earlier.made.keep) else keep


def with_inherited_withheld(spec: BoxesSpec, filled: BoxesSpec) -> BoxesSpec:
    """The filled specification; sensitive columns that were not requested and are not shown are withheld."""
    if "sensitive" in spec.model_fields_set:
        return filled
    more = _added(filled, filled.sensitive)
    return filled.model_copy(update={"withheld": (*filled.withheld, *more)})


def _added(spec: BoxesSpec, sensitive: Iterable[str]) -> list[str]:
    return [name for name in sensitive if name not in (*spec.keep, *spec.withheld)]


def wrong_withheld(spec: BoxesSpec) -> Iterator[FieldError]:
    """Withheld columns that nothing is demanded of, or that are to be published."""
    for index, name in enumerate(spec.withheld):
        if name in spec.keep:
            detail = f"{name!r} is one of `keep` too, which publishes it: name it in one of them"
            yield FieldError(pointer("withheld", index), detail)
        elif name not in spec.sensitive:
            detail = (
                f"{name!r} is not one of `sensitive`: `withheld` names sensitive columns that `l`, `t` and `alpha` "
                "count and the release does not show. Name it in both, or leave it out: no other column is published"
            )
            yield FieldError(pointer("withheld", index), detail)


def placed(spec: BoxesSpec, errors: Iterable[FieldError]) -> list[FieldError]:
    """The errors, those about published sensitive columns where these were named."""
    places = {
        pointer("keep", index): pointer("sensitive", spec.sensitive.index(name))
        for index, name in enumerate(spec.keep)
        if name in spec.sensitive
    }
    return [replace(one, pointer=places.get(one.pointer, one.pointer)) for one in errors]


def counted_as_withheld(spec: BoxesSpec) -> Iterator[JobWarning]:
    """Warn of sensitive columns that are not shown because earlier publications do not show them."""
    for index, name in enumerate(spec.sensitive):
        if name not in (*spec.keep, *spec.withheld):
            detail = (
                f"column {name!r} counts as withheld: `l`, `t` and `alpha` are met and the release does not show it, "
                "for nothing that was published of these data does. Name it in `withheld` to say so; in `keep` of a "
                "release with boxes of its own to publish it (`previous_release_id` of a new version is null then)"
            )
            yield warning(WarningCode.COUNTS_AS_WITHHELD, detail, pointer("spec", "sensitive", index))
