"""What a question to a release and the release itself decide before it is computed."""

from collections.abc import Iterator, Sequence
from typing import Final

from app.contracts.datasets import NUMERIC
from app.contracts.inputs import ReleaseInput
from app.contracts.queries import ClassifySpec, CountSpec
from app.errors import FieldError, pointer
from app.jobs.inputs import Given

#: Releases whose rows are about the specification's `columns`.
_OF_COLUMNS: Final = ("boxes", "uncertain", "condensation")


def check_count(spec: CountSpec, given: Given) -> list[FieldError]:
    """Everything wrong with queries to this release, each with its pointer."""
    return list(_unknown(spec, given.releases["release_id"]))


def check_classify(spec: ClassifySpec, given: Given) -> list[FieldError]:
    """Everything wrong with points to classify by this release, each with its pointer."""
    return list(_unfit(spec, given.releases["release_id"]))


def counted_columns(release: ReleaseInput) -> Sequence[str]:
    """The columns that queries may restrict."""
    if release.method in _OF_COLUMNS:
        names: Sequence[str] = release.spec["columns"]
        return names
    return [column.name for column in release.columns if column.type in NUMERIC]


def _unknown(spec: CountSpec, release: ReleaseInput) -> Iterator[FieldError]:
    names = counted_columns(release)
    known = frozenset(names)
    for index, query in enumerate(spec.queries):
        for name in query:
            if name not in known:
                yield FieldError(
                    pointer("queries", index, name), f"{name!r} cannot be counted; columns that can: {', '.join(names)}"
                )


def _unfit(spec: ClassifySpec, release: ReleaseInput) -> Iterator[FieldError]:
    names, kept = release.spec["columns"], release.spec["keep"]
    if spec.label not in kept:
        told = f"kept columns: {', '.join(kept)}" if kept else "it keeps none"
        yield FieldError("/label", f"{spec.label!r} is not a column that the release keeps; {told}")
    if spec.neighbours > release.rows:
        yield FieldError("/neighbours", f"{spec.neighbours} asked, the release has {release.rows} rows")
    for index, point in enumerate(spec.points):
        if len(point) != len(names):
            yield FieldError(
                pointer("points", index), f"a point has {len(names)} values ({', '.join(names)}), not {len(point)}"
            )
