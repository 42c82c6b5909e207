"""What the specification of `influence` and the releases decide before a job is accepted."""

from app.contracts.inputs import Given, ReleaseInput, listed
from app.errors import FieldError
from app.methods.influence.spec import InfluenceSpec


def fill_influence(spec: InfluenceSpec, given: Given) -> InfluenceSpec:
    """The specification with the releases' original."""
    originals = [one.dataset_id for one in listed(given.releases, "release_ids").values()]
    return spec.model_copy(update={"dataset_id": spec.dataset_id or next(iter(originals), None)})


def check_influence(spec: InfluenceSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these releases, each with its pointer."""
    return [
        FieldError(f"/{role}", wrong)
        for role, one in listed(given.releases, "release_ids").items()
        if (wrong := _wrong(spec, one, given)) is not None
    ]


def _wrong(spec: InfluenceSpec, release: ReleaseInput, given: Given) -> str | None:
    if release.forgotten:
        return "its job was deleted, and with it how it was made: it cannot be made again without a record"
    if release.previous is not None:
        return f"a new version shows rows of several versions in the boxes of {release.previous}: audit the first one"
    if release.base is not None:
        return f"it was made from {release.base} and from no record: audit that one"
    if release.dataset_id != spec.dataset_id:
        return f"its original is {release.dataset_id}: audit it by itself"
    if not any(name in given.datasets["dataset_id"].numeric for name in release.made.quasi_identifiers):
        return "it publishes no column of numbers: no record is extreme"
    return None
