"""Later releases of a series: what their base decides about what can be made from it alone.

Source: science.md section 6, "A series is post-processing".
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from app.contracts.columns import ColumnKind, plain_kind
from app.contracts.datasets import ColumnType
from app.contracts.inputs import BASE, PREVIOUS, ReleaseInput
from app.contracts.jobs import ReleasingSpec
from app.contracts.releases import ReleaseState
from app.errors import FieldError, pointer
from app.methods.boxes.check_statistics import too_many_statistics, with_steering, wrong_statistics
from app.methods.boxes.shown import keep_of, with_inherited_withheld
from app.methods.boxes.spec import BoxesSpec, BoxMeans, RareRecords
from app.methods.columns import infinite_before, k_too_large

#: What a later release states for itself; all else is its base's.
_OWN: Final = frozenset(
    {
        *ReleasingSpec.model_fields,
        BASE,
        PREVIOUS,
        "quasi_identifiers",
        "keep",
        "withheld",
        "k",
        "statistics",
        "ddof",
        "least_widths",
    }
)
#: The statements by column.
_BY_COLUMN: Final = ("nominal", "domains", "value_step", "min_width", "spikes")


def fill(spec: BoxesSpec, base: ReleaseInput) -> BoxesSpec:
    """The specification with all that is the base's, but for what it states otherwise, which `check` refuses."""
    if _unusable(base) is not None:
        return spec
    own = spec.model_fields_set
    more = {name: value for name, value in inherited(spec, base).items() if name not in own}
    keep = keep_of(spec, base) if "sensitive" in own else spec.keep
    filled = with_inherited_withheld(spec, spec.model_copy(update={**more, "keep": keep}))
    return with_steering(filled, _kinds(filled, base))


def check(spec: BoxesSpec, base: ReleaseInput) -> list[FieldError]:
    """Everything wrong with a later release of this base, each with its pointer."""
    if (wrong := _unusable(base)) is not None:
        return [FieldError(pointer(BASE), wrong)]
    kinds = _kinds(spec, base)
    return [
        *_strange("quasi_identifiers", spec, base),
        *_strange("keep", spec, base),
        *_k(spec, base),
        *otherwise(spec, base),
        *infinite_before(spec.keep, spec.formats, [base]),
        *wrong_statistics(spec, kinds, _kept_kinds(spec, base), (*base.made.quasi_identifiers, *base.made.keep)),
        *too_many_statistics(spec, kinds),
    ]


_WEIGHED: Final = (
    "series of weighed releases (`survey_weight_column`, `rare_records: weigh`) are not built yet. Compute other "
    "statistics from the release itself (`POST /v1/releases/{id}/statistics`), or publish one release with "
    "all columns and statistics: its weights are published once of the same data"
)


def _unusable(base: ReleaseInput) -> str | None:
    """Why nothing can be made from a release."""
    if base.method != "boxes":
        return f"a release of `{base.method}` is no base of a series; releases of `boxes` are"
    if base.base is not None:
        return f"it is a later release of a series itself: name its base {base.base}"
    if base.forgotten:
        return "its job was deleted, and with it how it was made"
    if base.state is not ReleaseState.PUBLISHED:
        state = "a draft" if base.state is ReleaseState.DRAFT else base.state
        return f"it is {state}: a series is made from the published data, publish it first"
    weighed = base.made.survey_weight_column is not None or base.made.rare_records == RareRecords.WEIGH
    return _WEIGHED.format(id=base.id) if weighed else None


def inherited(spec: BoxesSpec, base: ReleaseInput) -> dict[str, Any]:
    """All that is the earlier release's, about the columns that are published again."""
    whole = BoxesSpec.model_validate({**base.spec, "seed": None})
    fields = {name: getattr(whole, name) for name in BoxesSpec.model_fields if name not in _OWN}
    fields |= {name: _of(fields[name], spec.quasi_identifiers) for name in _BY_COLUMN}
    fields["ordinal"] = _of(fields["ordinal"], (*spec.quasi_identifiers, *whole.sensitive))
    fields["box_means"] = BoxMeans.NONE  # the base has the means; a union's own would be new
    if whole.rare_records is RareRecords.MARK:  # which boxes are of the core is not said again
        fields["rare_records"] = RareRecords.KEEP
    return fields


def _of(by_column: Mapping[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in by_column.items() if name in columns}


def _kinds(spec: BoxesSpec, base: ReleaseInput) -> dict[str, ColumnKind]:
    return {name: base.kind_of(name) for name in spec.quasi_identifiers if name in base.made.quasi_identifiers}


def _kept_kinds(spec: BoxesSpec, base: ReleaseInput) -> dict[str, ColumnKind]:
    types = {column.name: column.type for column in base.columns}
    return {name: plain_kind(ColumnType(types[name])) for name in spec.keep if name in types}


def _strange(field: str, spec: BoxesSpec, base: ReleaseInput) -> Iterator[FieldError]:
    """Columns that the base does not have so."""
    there: tuple[str, ...] = getattr(base.made, field)
    for index, name in enumerate(getattr(spec, field)):
        if name not in there:
            detail = f"the base has {', '.join(map(repr, there))}" if there else "the base has none"
            yield FieldError(pointer(field, index), f"{name!r} is not among `{field}` of the base: {detail}")


def _k(spec: BoxesSpec, base: ReleaseInput) -> Iterator[FieldError]:
    least = int(base.made.least_k)
    if spec.k < least:
        yield FieldError("/k", f"k = {spec.k} required, the base has boxes of {least}: the least k is {least}")
    elif spec.k > base.rows:
        yield FieldError("/k", k_too_large(spec.k, f"a base of {base.rows} rows", base.rows))
    elif spec.k > least and spec.person_column is not None:
        detail = (
            f"the base counts persons, and boxes do not state whose rows they share: k is {least} in its series. "
            "Make a base with the largest k that you need"
        )
        yield FieldError("/k", detail)


def otherwise(spec: BoxesSpec, base: ReleaseInput, *, apart_from: Collection[str] = ()) -> Iterator[FieldError]:
    """Options that differ from those of the earlier release, apart from some that may."""
    for name, value in inherited(spec, base).items():
        if name not in apart_from and getattr(spec, name) != value:
            yield FieldError(pointer(name), f"`{name}` is that of {base.id}, from which this one is made: leave it out")
