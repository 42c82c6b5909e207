"""What the specification of `table` and the columns of the audited data decide before a job is accepted."""

from collections.abc import Collection, Iterator, Mapping

from app.contracts.datasets import NUMERIC
from app.contracts.inputs import Given, ReleaseInput
from app.contracts.quasi_identifiers import Form, all_understood, understood
from app.errors import FieldError, meant, pointer
from app.methods.columns import not_used
from app.methods.table.spec import MOST_PEOPLE, NOT_NAMED, TableSpec


def fill_table(spec: TableSpec, given: Given) -> TableSpec:
    """The specification with the columns that an own release was made by, where it names none."""
    if spec.release_id is None or spec.quasi_identifiers:
        return spec
    types, made = _types(spec, given), given.releases["release_id"].spec
    named = made.get("quasi_identifiers") or _bounded(types)
    known = tuple(name for name in named if understood(name, types) is not None)
    used = {column for one in all_understood(known, types) for column in one.columns}
    sensitive = tuple(name for name in made.get("sensitive") or () if name in types and name not in used)
    person = made.get("person_column")
    return spec.model_copy(
        update={
            "quasi_identifiers": known,
            "sensitive": spec.sensitive or sensitive,
            "person_column": spec.person_column or (person if person in types else None),
        }
    )


def _bounded(types: Collection[str]) -> list[str]:
    """Names of the columns that a release shows by bounds or sets."""
    names = [name.removesuffix("_lo") for name in types if name.endswith("_lo") and f"{name[:-3]}_hi" in types]
    return [*names, *(name.removesuffix("_set") for name in types if name.endswith("_set"))]


def check_table(spec: TableSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this table, each with its pointer."""
    types = _types(spec, given)
    wrong = [*_quasi_identifiers(spec, types), *_named(spec, types)]
    if spec.dataset_id is not None and not given.profile().rows:
        wrong.append(FieldError("/dataset_id", "the dataset has no records"))
    rows = given.profile().rows if spec.release_id is None else given.releases["release_id"].rows
    if spec.sampling_fraction is not None and rows > spec.sampling_fraction * MOST_PEOPLE:
        detail = "the table would be a sample of more than 2^53 people: name a larger share"
        wrong.append(FieldError("/sampling_fraction", detail))
    if spec.demanded and not spec.quasi_identifiers:
        wrong.append(FieldError("/require", NOT_NAMED))
    return wrong


def _types(spec: TableSpec, given: Given) -> dict[str, str]:
    if spec.release_id is not None:
        release: ReleaseInput = given.releases["release_id"]
        return {column.name: str(column.type) for column in release.columns}
    return {column.name: str(column.type) for column in given.profile().columns}


def _quasi_identifiers(spec: TableSpec, types: Mapping[str, str]) -> Iterator[FieldError]:
    for index, name in enumerate(spec.quasi_identifiers):
        if understood(name, types) is None:
            detail = (
                f"the table has no column {name!r}, nor {name}_lo and {name}_hi, nor {name}_set{meant(name, types)}"
            )
            yield FieldError(pointer("quasi_identifiers", index), detail)
    used = {column for one in all_understood(spec.quasi_identifiers, types) for column in one.columns}
    plain = {one.name for one in all_understood(spec.quasi_identifiers, types) if one.form is Form.PLAIN}
    for index, name in enumerate(spec.microaggregated):
        if name not in plain or types[name] not in NUMERIC:
            detail = f"{name!r} is no quasi-identifier of plain numbers{meant(name, plain)}"
            if name not in used and name in types:
                detail = not_used(name, plain, types, "`quasi_identifiers`")
            yield FieldError(pointer("microaggregated", index), detail)
    numbers = {one.name for one in all_understood(spec.quasi_identifiers, types)}
    for name in spec.tolerances:
        if name not in numbers:
            yield FieldError(pointer("tolerances", name), not_used(name, numbers, types, "`quasi_identifiers`"))
    for index, name in enumerate(spec.sensitive):
        if name in used:
            detail = f"{name!r} is a quasi-identifier: an adversary who knows it need not learn it"
            yield FieldError(pointer("sensitive", index), detail)


def _named(spec: TableSpec, types: dict[str, str]) -> Iterator[FieldError]:
    """Columns besides the quasi-identifiers, with what they must be."""
    numeric: list[tuple[str, str]] = (
        [("/survey_weight_column", spec.survey_weight_column)] if spec.survey_weight_column is not None else []
    )
    numeric += [(pointer("sums", index, "of"), one.of) for index, one in enumerate(spec.sums)]
    plain = [(pointer("sensitive", index), name) for index, name in enumerate(spec.sensitive)]
    plain += [(pointer("region_columns", index), name) for index, name in enumerate(spec.region_columns)]
    plain += [
        (pointer("sums", index, "by", place), name)
        for index, one in enumerate(spec.sums)
        for place, name in enumerate(one.by)
    ]
    plain += [("/person_column", spec.person_column)] if spec.person_column is not None else []
    for where, name in [*plain, *numeric]:
        if name not in types:
            yield FieldError(where, f"the table has no column {name!r}{meant(name, types)}")
    for where, name in numeric:
        if name in types and types[name] not in NUMERIC:
            yield FieldError(where, f"column {name!r} is {types[name]}, not numeric")
