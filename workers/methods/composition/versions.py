"""New versions among releases: what they leave is what the gate says of them, by what each and any two of them show.

Which releases are versions of each other is seen from their boxes, which are the same or united: cuts of other data
never fall on the same points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

from app.contracts.inputs import ReleaseInput
from workers.frames.ledger import common_boxes, fewest_changed, smallest_box

#: Share of its boxes that a version has in common with others.
_HALF: Final = 0.5


@dataclass(frozen=True)
class Chain:
    """Releases in the same boxes.

    Attributes
    ----------
    roles
        Fields that name them, in the order in which they were made.
    smallest
        Rows of their smallest box.
    changed
        Fewest rows by which a box differs between two of them; None: none does.
    """

    roles: tuple[str, ...]
    smallest: int
    changed: int | None


def chains(releases: Mapping[str, ReleaseInput], ledgers: Mapping[str, Path]) -> list[Chain]:
    """The versions among releases; those that are none are in no chain.

    Parameters
    ----------
    releases
        By the fields that name them.
    ledgers
        Of those of boxes, by the same.
    """
    groups: list[list[str]] = []
    for role in ledgers:
        near = [group for group in groups if any(_versions(releases, ledgers, role, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(one for group in near for one in group), role])
    known = [group for group in groups if len(group) > 1 or releases[group[0]].previous is not None]
    return [_chain(_in_order(group, releases), ledgers) for group in known]


def _versions(releases: Mapping[str, ReleaseInput], ledgers: Mapping[str, Path], one: str, other: str) -> bool:
    """Whether two releases are versions: one has the boxes of the other, or of one that had them."""
    a, b = releases[one], releases[other]
    if a.previous is None and b.previous is None:
        return False
    return b.id == a.previous or a.id == b.previous or common_boxes(ledgers[one], ledgers[other]) >= _HALF


def _in_order(group: Sequence[str], releases: Mapping[str, ReleaseInput]) -> list[str]:
    """Fields by when their releases were made; by who continues whom, where that is all that is known."""
    before = {releases[role].id: releases[role].previous for role in group}

    def steps(role: str) -> int:
        at, count = releases[role].id, 0
        while (at := before.get(at) or "") in before and count < len(before):
            count += 1
        return count

    return sorted(group, key=lambda role: (releases[role].made_at or 0.0, steps(role)))


def _chain(roles: Sequence[str], ledgers: Mapping[str, Path]) -> Chain:
    figures = [fewest_changed(ledgers[one], ledgers[other]) for one, other in combinations(roles, 2)]
    return Chain(
        tuple(roles),
        min(smallest_box(ledgers[role]) for role in roles),
        min((one for one in figures if one is not None), default=None),
    )
