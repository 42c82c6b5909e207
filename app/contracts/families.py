"""Families: the same data of one owner, and all publications of them."""

from pydantic import Field

from app.contracts.base import Contract, Instant


class OverlayDiversity(Contract):
    """A sensitive column over the overlay groups."""

    l_diversity: int = Field(description="Distinct values in the least diverse group.")
    alpha: float = Field(description="Greatest share of one value in a group.")
    homogeneous: float = Field(description="Share of records whose group has one value.")


class FamilyComposition(Contract):
    """What all releases that were published of the same data leave together, persons counted."""

    composed_k: float = Field(
        description="Persons that are left: the least of `overlay`, `expected` and `changed`; 1 where rows are the "
        "original's (`swaps`) or follow them (`condensation`), and where a person cannot be placed."
    )
    overlay: int | None = Field(description="Persons in the smallest set that agrees in all boxes, absence included.")
    overlay_below: float | None = Field(description="Share of the persons in such sets of fewer than k.")
    candidates: int | None = Field(description="Fewest rows that may be a person's, joined by kept columns alone.")
    candidates_below: float | None = Field(description="Share of the persons with fewer than k of them.")
    changed: int | None = Field(description="Fewest rows that were added to a box or have left it; null: none.")
    expected: float | None = Field(description="Fewest records expected to fit the noisy rows of one; null: no noise.")
    expected_below: float | None = Field(description="Share of the records with fewer than k of them.")
    diversity: dict[str, OverlayDiversity] = Field(description="Of kept and sensitive columns.")
    release_count: int = Field(description="Number of releases that were combined.")
    exact: bool = Field(description="False: of some persons it is not known where they were; `composed_k` is 1 then.")
    unplaced: int = Field(
        default=0, description="Persons of whom that is not known: each counts as hidden among no others."
    )
    new: int = Field(default=0, description="Persons of these data who were not in some earlier ones.")
    left: int = Field(default=0, description="Persons of earlier data who are not in these.")


class FamilyPublication(Contract):
    """One release that was published."""

    release_id: str = Field(description="Its id; the release may be withdrawn or deleted since.")
    method: str = Field(description="The method of its job.")
    published_at: Instant = Field(description="Time of the publication, in UTC.")
    base_release_id: str | None = Field(description="Of a series: what it was made from alone.")
    previous_release_id: str | None = Field(description="Of a new version of the data: the release whose boxes it has.")
    composition: FamilyComposition | None = Field(
        description="What all up to this one leave; null: it was not computed."
    )


class FamilyDataset(Contract):
    """A dataset of a family, and why it is one of it."""

    dataset_id: str = Field(description="Id of the dataset.")
    name: str = Field(description="Name that the owner gave it.")
    created_at: Instant = Field(description="Time of the upload, in UTC.")
    because: str = Field(description="Why it is of this family: one sentence.")


class Family(Contract):
    """Datasets of an owner that are the same, and all publications of them, in order."""

    id: str = Field(description="Id of the family of datasets.")
    confirmed: bool = Field(
        description="Whether a keeper vouches for its data. False: they came by a key without `jobs:read`, are "
        "compared with no others, and nothing of them is published."
    )
    apart: bool = Field(description="Whether its keeper has set it apart: nothing is compared with it.")
    dataset_ids: tuple[str, ...] = Field(description="Those that are still there, oldest first.")
    datasets: tuple[FamilyDataset, ...] = Field(description="The same, each with why it is of this family.")
    published: tuple[FamilyPublication, ...] = Field(description="In order; deleting takes nothing back.")


class FamilyList(Contract):
    """The owner's families, newest first."""

    items: tuple[Family, ...] = Field(description="Objects of this page, newest first.")
    next_cursor: str | None = Field(default=None, description="As of other lists; always null: all are on one page.")
