"""New versions of data in the boxes of an earlier release: what both decide about what can be made.

Source: science.md section 6, "New versions of the data".
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from app.contracts.inputs import PREVIOUS, Given, ReleaseInput
from app.contracts.releases import ReleaseState
from app.errors import FieldError, meant, pointer
from app.methods.boxes.check_columns import kept_kinds, wrong_columns, wrong_weights
from app.methods.boxes.check_statistics import too_many_statistics, with_steering, wrong_statistics
from app.methods.boxes.series import inherited, otherwise
from app.methods.boxes.shown import keep_of, with_inherited_withheld
from app.methods.boxes.spec import BoxBounds, BoxesMissingPolicy, BoxesSpec, RareRecords, kinds_of
from app.methods.columns import infinite_before, infinite_in_json, named, types_of
from app.methods.columns import wrong_columns as unknown_columns

#: What is the same in all versions; where it is, a release of the version before is continued unasked.
_SAME: Final = ("quasi_identifiers", "keep", "k")
#: By table: one may have counts, and another a row for each of the same persons.
_COUNTS: Final = ("frequency_column", "frequencies_are_exact")


def previous_of(spec: BoxesSpec, given: Given) -> ReleaseInput | None:
    """The release whose boxes are used again: as named, or the last one of earlier versions that fits."""
    if PREVIOUS in spec.model_fields_set or spec.dataset_id is None:
        return given.previous
    if (filled := given.previous) is not None:
        return filled
    dataset = given.datasets.get("dataset_id")
    earlier = () if dataset is None else dataset.earlier
    if (last := _last_alike(spec, earlier)) is not None and _settings(last) is not None:
        return last  # refused by name: boxes of its own are for who states `null`
    return next((one for one in earlier if _unusable(one) is None and _alike(spec, one)), None)


def fill(spec: BoxesSpec, given: Given, previous: ReleaseInput) -> BoxesSpec:
    """The specification with all that is the earlier release's, but for what it states otherwise."""
    if _unusable(previous) is not None:
        return spec.model_copy(update={PREVIOUS: previous.id})  # `check` states why
    own = spec.model_fields_set
    more = {name: value for name, value in inherited(spec, previous).items() if name not in own}
    more |= {PREVIOUS: previous.id, "keep": keep_of(spec, previous)}
    more.pop("frequencies_are_exact", None)  # the owner's word is about the counts of one table
    filled = with_inherited_withheld(spec, spec.model_copy(update=more))
    return with_steering(filled, kinds_of(filled, types_of(given.profile())))


def check(spec: BoxesSpec, given: Given, previous: ReleaseInput) -> list[FieldError]:
    """Everything wrong with a new version in these boxes, each with its pointer."""
    if (wrong := _unusable(previous)) is not None:
        return [FieldError(pointer(PREVIOUS), wrong)]
    if previous.id not in {one.id for one in given.datasets["dataset_id"].earlier}:
        detail = (
            "the dataset is no new version of the data that this release was made from: upload it with "
            f"`version_of_dataset_id={previous.dataset_id}`"
        )
        return [FieldError(pointer(PREVIOUS), detail)]
    profile = given.profile()
    kinds = kinds_of(spec, types_of(profile))
    return [
        *_changed(spec, previous),
        *otherwise(spec, previous, apart_from=_COUNTS),
        *wrong_columns(spec, profile),
        *wrong_weights(spec, named(profile), profile),
        *_infinite(spec, given, previous),
        *unknown_columns("sensitive", spec.sensitive, named(profile)),
        *_other_types(spec, given, previous),
        *wrong_statistics(spec, kinds, kept_kinds(spec, profile), named(profile), may_be_added=False),
        *too_many_statistics(spec, kinds),
    ]


def _infinite(spec: BoxesSpec, given: Given, previous: ReleaseInput) -> list[FieldError]:
    """Infinite numbers of the data, else of versions before, whose rows a box shows while it waits."""
    wrong = list(infinite_in_json(spec.keep, spec.formats, given.profile()))
    return wrong or list(infinite_before(spec.keep, spec.formats, _continued(given, previous)))


def _continued(given: Given, previous: ReleaseInput) -> Iterator[ReleaseInput]:
    """Yield the release that is continued, the one that it continues, and so on."""
    earlier = {one.id: one for one in given.datasets["dataset_id"].earlier}
    last: ReleaseInput | None = previous
    while last is not None:
        yield last
        last = earlier.get(last.previous or "")


def _last_alike(spec: BoxesSpec, earlier: Sequence[ReleaseInput]) -> ReleaseInput | None:
    """The last release of the versions before that has the columns and the k that are requested."""
    return next((one for one in earlier if not one.forgotten and _same(spec, one)), None)


def _same(spec: BoxesSpec, earlier: ReleaseInput) -> bool:
    requested = {name: getattr(spec, name) for name in _SAME} | {"keep": keep_of(spec, earlier)}
    return all(requested[name] == getattr(earlier.made, name) for name in _SAME)


def _alike(spec: BoxesSpec, earlier: ReleaseInput) -> bool:
    """Whether a release has what the specification asks for, as far as it states."""
    requested = spec.model_copy(update=_unsaid(spec, earlier))
    return _same(spec, earlier) and not list(otherwise(requested, earlier, apart_from=_COUNTS))


def _unsaid(spec: BoxesSpec, earlier: ReleaseInput) -> dict[str, object]:
    fields = inherited(spec, earlier)
    return {name: value for name, value in fields.items() if name not in spec.model_fields_set}


def _unusable(previous: ReleaseInput) -> str | None:
    """Why no new version can be made in the boxes of a release."""
    if previous.method != "boxes":
        return f"a release of `{previous.method}` has no boxes; new versions are made in those of `boxes`"
    if previous.base is not None:
        return f"it is a later release of a series, whose boxes may overlap: name its base {previous.base}"
    if previous.forgotten:
        return "its job was deleted, and with it how it was made"
    if previous.state is ReleaseState.DRAFT:  # a withdrawn release was published: its boxes reveal nothing new
        return "it is a draft: a version shows what changed since the published data, publish it first"
    return _settings(previous)


def _settings(previous: ReleaseInput) -> str | None:
    """Which settings of a release of boxes no version can continue, and what works instead."""
    spec = BoxesSpec.model_validate({**previous.spec, "seed": None})
    wrong = [f"`{name}` ({instead})" for name, (holds, instead) in _refused(spec).items() if holds]
    if not wrong:
        return None
    return (
        f"{previous.id} has boxes that no new version can continue: {'; '.join(wrong)}. Publish one release without "
        "that setting, which later versions continue; `previous_release_id: null` makes boxes of its own, which are "
        "composed with the publications before and are mostly kept as a draft"
    )


def _refused(spec: BoxesSpec) -> dict[str, tuple[bool, str]]:
    """What no new version is made of, whether a release has it, and what to ask instead."""
    counted = spec.k_counts_kept and bool(spec.keep)
    return {
        "bounds": (spec.bounds is not BoxBounds.CELLS, "ends that hang on the records would move: use `cells`"),
        "missing_policy": (
            spec.missing_policy is BoxesMissingPolicy.PATTERN,
            "boxes would lack columns: use `drop`, or declare a value",
        ),
        "rare_records": (
            spec.rare_records not in {RareRecords.KEEP, RareRecords.MARK},
            "boxes that are left out contain no one's change: use `mark`",
        ),
        "survey_weight_column": (
            spec.survey_weight_column is not None,
            "weights change with every record: leave it out",
        ),
        "min_separation": (
            bool(spec.min_separation),
            "what has left is not known to the number: use `l` with `sensitive`",
        ),
        "t": (spec.t is not None, "it compares boxes with all records, which change: use `alpha`"),
        "k_counts_kept": (
            counted and bool(spec.sensitive),
            "a class of kept values has one sensitive value: keep `l` or `alpha` alone",
        ),
    }


def _changed(spec: BoxesSpec, previous: ReleaseInput) -> Iterator[FieldError]:
    for index, name in enumerate(spec.withheld):
        if name in previous.made.keep:
            detail = (
                f"{previous.id} shows {name!r}, and so do its new versions: leave it out, or set "
                "`previous_release_id` to null: boxes of its own, composed with the published data"
            )
            yield FieldError(pointer("withheld", index), detail)
            return
    for name in _SAME:
        if getattr(spec, name) != getattr(previous.made, name):
            yield FieldError(pointer(name), _other(name, getattr(spec, name), previous))


def _other(name: str, value: Any, previous: ReleaseInput) -> str:
    """What differs from the release that is continued, and what to do about it."""
    way_on = "or set `previous_release_id` to null: boxes of its own, composed with the published data"
    if name not in {"quasi_identifiers", "keep"}:
        return f"`{name}` of a new version is that of {previous.id}: leave it as it was there, {way_on}"
    before: tuple[str, ...] = getattr(previous.made, name)
    more = [each for each in value if each not in before]
    less = [each for each in before if each not in value]
    differ = [f"leave out {', '.join(map(repr, more))}"] if more else []
    differ += [f"add {', '.join(map(repr, less))}"] if less else []
    there = ", ".join(map(repr, before)) or "none"
    todo = " and ".join(differ) or "name them in this order"
    return f"`{name}` of a new version are those of {previous.id} ({there}): {todo}, {way_on}"


def _other_types(spec: BoxesSpec, given: Given, previous: ReleaseInput) -> Iterator[FieldError]:
    """Columns that are read as something else than they were published as."""
    columns, kinds = named(given.profile()), kinds_of(spec, types_of(given.profile()))
    there = {one.name: one.type for one in previous.columns}
    for index, name in enumerate(spec.quasi_identifiers):
        if name not in previous.made.quasi_identifiers:
            continue  # said of `quasi_identifiers` already
        if name in columns and kinds[name] is not previous.kind_of(name):
            detail = f"column {name!r} is {kinds[name]} here and was {previous.kind_of(name)}: read it with `type`"
            yield FieldError(pointer("quasi_identifiers", index), detail)
    for index, name in enumerate(spec.keep):
        if name not in columns:
            yield FieldError(pointer("keep", index), f"the dataset has no column {name!r}{meant(name, columns)}")
        elif name in previous.made.keep and columns[name].type != there[name]:
            detail = f"column {name!r} is {columns[name].type} here and was {there[name]}: read it with `type`"
            yield FieldError(pointer("keep", index), detail)
