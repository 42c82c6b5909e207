"""What the specification of `linkage`, the release and the adversary's dataset decide before a job is accepted."""

from collections.abc import Iterator, Mapping
from typing import Final

from app.contracts.datasets import ColumnType, Profile
from app.contracts.inputs import Given, ReleaseInput, listed
from app.errors import FieldError
from app.methods.columns import named, wrong_column, wrong_numbers
from app.methods.linkage.spec import LinkageSpec

#: What several releases that are attacked together may be.
_JOINTLY: Final = ("boxes", "uncertain")


def fill_linkage(spec: LinkageSpec, given: Given) -> LinkageSpec:
    """The specification with the adversary's knowledge: by default the original, which is needed besides any other."""
    if spec.release_ids:
        first = given.releases["release_ids/0"].dataset_id
        return spec.model_copy(update={"knowledge_dataset_id": spec.knowledge_dataset_id or first})
    release = given.releases["release_id"]
    known = spec.knowledge_dataset_id or release.dataset_id
    apart = known != release.dataset_id and release.method != "boxes"
    return spec.model_copy(
        update={
            "knowledge_dataset_id": known,
            "original_dataset_id": spec.original_dataset_id or (release.dataset_id if apart else None),
        }
    )


def check_linkage(spec: LinkageSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this release and this dataset, each with its pointer."""
    if spec.release_ids:
        return list(_several(spec, listed(given.releases, "release_ids")))
    release = given.releases["release_id"]
    if (why := unlinkable(release)) is not None:
        return [FieldError("/release_id", why)]
    wrong = []
    if spec.original_dataset_id not in {None, release.dataset_id}:
        wrong.append(FieldError("/original_dataset_id", f"the original of this release is {release.dataset_id}"))
    return [*wrong, *_columns(release, given.profile("knowledge_dataset_id"))]


def _several(spec: LinkageSpec, releases: Mapping[str, ReleaseInput]) -> Iterator[FieldError]:
    """The faults of releases that are to be attacked jointly."""
    original = next(iter(releases.values())).dataset_id
    for role, one in releases.items():
        if one.method not in _JOINTLY:
            yield FieldError(f"/{role}", f"{' and '.join(_JOINTLY)} are attacked jointly, not {one.method}")
        elif (why := unlinkable(one)) is not None:
            yield FieldError(f"/{role}", why)
        elif one.dataset_id != original:
            yield FieldError(
                f"/{role}", f"releases of one original are attacked jointly; the first one's is {original}"
            )
    for name in ("knowledge_dataset_id", "original_dataset_id"):
        if getattr(spec, name) not in {None, original}:
            yield FieldError(
                f"/{name}", f"several releases are attacked by an adversary who knows their original, {original}"
            )


def _columns(release: ReleaseInput, profile: Profile) -> Iterator[FieldError]:
    columns, made = named(profile), release.made
    for name in made.keep if made.k_counts_kept else ():
        if (wrong := wrong_column(name, columns)) is not None:
            yield FieldError("/knowledge_dataset_id", f"{wrong}, whose values the release keeps and its k counts")
    dates, others = _no_numbers(release)
    for name in made.quasi_identifiers:
        if (wrong := wrong_column(name, columns, numeric=name not in dates | others)) is not None:
            yield FieldError("/knowledge_dataset_id", f"{wrong}, which the release is about")
        elif name in dates and columns[name].type is not ColumnType.DATE:
            yield FieldError(
                "/knowledge_dataset_id", f"column {name!r} is {columns[name].type}, not date, as in the release"
            )
        elif name in profile.numeric and name not in others:
            yield from wrong_numbers("/knowledge_dataset_id", columns[name], profile.numeric[name])
        if name in columns and columns[name].missing >= profile.rows:
            yield FieldError("/knowledge_dataset_id", f"column {name!r} has no values")


def _no_numbers(release: ReleaseInput) -> tuple[set[str], set[str]]:
    """Columns of a release of boxes that are dates, and those that are sets or orders."""
    if release.method != "boxes":
        return set(), set()
    types = {one.name: one.type for one in release.columns}
    orders = set(release.made.ordinal)
    names = set(release.made.quasi_identifiers) - orders
    dates = {name for name in names if types.get(f"{name}_lo") == ColumnType.DATE}
    return dates, orders | {name for name in names if f"{name}_set" in types}


#: Records and boxes find each other; of rows of all other methods it has to be written which record they represent.
_LINKED_BY_VALUES: Final = "boxes"


def unlinked(base: str | None, previous: str | None) -> str | None:
    """Why rows of a release represent no records: of the base of its series, or of the version before it."""
    if base is not None:
        return f"it was made from {base} alone and reveals no more than that one, which can be linked: name it"
    if previous is not None:
        return f"a new version shows rows of several versions in the boxes of {previous}: link the first one"
    return None


def unlinkable(release: ReleaseInput) -> str | None:
    """Why it is not known which record a row of a release represents."""
    if release.method != _LINKED_BY_VALUES and not release.linked:
        return (
            "it is no longer known which record each row of this release represents: its job or its original was "
            "deleted; make the release again to audit it"
        )
    return unlinked(release.base, release.previous)
