"""Families: the same data of one owner, and all publications of them."""

from enum import StrEnum

from pydantic import Field

from app.contracts.base import Contract, Instant


class People(StrEnum):
    """Answers about two families.

    `same`: their data are of the same people. Both are one family from then on, and releases of both are composed.
    `other`: of other people. Releases of one are not composed with those of the other.
    """

    SAME = "same"
    OTHER = "other"


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
    changed: int | None = Field(
        description="Fewest rows that were added to a box or have left it, or that two versions share in a box that "
        "differs; null: nothing differs."
    )
    expected: float | None = Field(description="Fewest records expected to fit the noisy rows of one; null: no noise.")
    expected_below: float | None = Field(description="Share of the records with fewer than k of them.")
    diversity: dict[str, OverlayDiversity] = Field(description="Diversity of kept and sensitive columns in these sets.")
    release_count: int = Field(description="Number of releases that were combined.")
    exact: bool = Field(description="False: of some persons it is not known where they were; `composed_k` is 1 then.")
    unplaced: int = Field(
        default=0, description="Persons of whom that is not known: each counts as hidden among no others."
    )
    new: int = Field(
        default=0,
        description="Persons of these data who are not seen in some earlier ones: they came, or their values changed.",
    )
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
    reason: str = Field(description="Why it is of this family: one sentence.")


class FamilyQuestion(Contract):
    """Data of another family that may be of the same people: the evidence does not decide."""

    other_family_id: str = Field(description="Id of the other family.")
    dataset_id: str = Field(description="Id of this family's dataset that the question is about.")
    other_dataset_id: str = Field(description="Id of the other family's dataset; it may be deleted by now.")
    columns: tuple[str, ...] = Field(description="Columns in which records of both datasets agree.")
    share_agreeing: float = Field(
        description="Share of the smaller dataset's records that have a record of the other's in these columns, from "
        "0 to 1, as estimated from samples."
    )
    share_by_chance: float = Field(description="The same share, as it is expected of independent people.")
    people: People | None = Field(description="Answer of a key with `releases:publish`; null: there is none yet.")
    answered_at: Instant | None = Field(description="Time of the answer, in UTC; null: there is none yet.")


class FamilyAnswer(Contract):
    """The answer to the questions about two families."""

    other_family_id: str = Field(max_length=200, description="Id of the other family.")
    people: People


class Family(Contract):
    """Datasets of an owner that are the same, and all publications of them, in order."""

    id: str = Field(description="Id of the family of datasets.")
    confirmed: bool = Field(
        description="True if a key with `jobs:read` vouches for its data. False: they came by a key without it, "
        "are compared with no others, and nothing of them is published."
    )
    apart: bool = Field(description="True if its owner has set it apart: nothing is compared with it.")
    dataset_ids: tuple[str, ...] = Field(description="Those that are still there, oldest first.")
    datasets: tuple[FamilyDataset, ...] = Field(description="The same, each with why it is of this family.")
    published: tuple[FamilyPublication, ...] = Field(description="In order; deleting takes nothing back.")
    questions: tuple[FamilyQuestion, ...] = Field(
        default=(),
        description="Data of other families that may be of the same people, oldest question first. Until you answer, "
        "a release stays a draft if something was published of the other family.",
    )


class FamilyList(Contract):
    """The owner's families, newest first."""

    items: tuple[Family, ...] = Field(description="Objects of this page, newest first.")
    next_cursor: str | None = Field(default=None, description="As of other lists; always null: all are on one page.")
