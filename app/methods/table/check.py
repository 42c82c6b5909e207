"""What the specification of `table` and the columns of the audited data decide before a job is accepted."""

from collections.abc import Collection, Iterator

from app.contracts.datasets import NUMERIC
from app.contracts.inputs import Given, ReleaseInput
from app.contracts.quasi_identifiers import all_understood, understood
from app.errors import FieldError, meant, pointer
from app.methods.table.spec import TableSpec


def check_table(spec: TableSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this table, each with its pointer."""
    types = _types(spec, given)
    wrong = [*_quasi_identifiers(spec, types), *_named(spec, types)]
    if spec.dataset_id is not None and not given.profile().rows:
        wrong.append(FieldError("/dataset_id", "the dataset has no records"))
    return wrong


def _types(spec: TableSpec, given: Given) -> dict[str, str]:
    if spec.release_id is not None:
        release: ReleaseInput = given.releases["release_id"]
        return {column.name: str(column.type) for column in release.columns}
    return {column.name: str(column.type) for column in given.profile().columns}


def _quasi_identifiers(spec: TableSpec, types: Collection[str]) -> Iterator[FieldError]:
    for index, name in enumerate(spec.quasi_identifiers):
        if understood(name, types) is None:
            detail = (
                f"the table has no column {name!r}, nor {name}_lo and {name}_hi, nor {name}_set{meant(name, types)}"
            )
            yield FieldError(pointer("quasi_identifiers", index), detail)
    used = {column for one in all_understood(spec.quasi_identifiers, types) for column in one.columns}
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
