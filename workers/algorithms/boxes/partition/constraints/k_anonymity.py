"""k-anonymity of boxes: k records, or k persons, and k of every class of kept columns (kernels).

Definition. A release is k-anonymous if every record shares its quasi-identifier with k - 1 others at least (Samarati,
Sweeney 1998; Sweeney 2002). Rows of a box share its bounds, so a box contains k records; where a person has several
records, records of k different persons. Where kept columns are published next to the box (`k_counts_kept`), the
quasi-identifier is the box and these: every class of kept values that a box contains is there k times, or by k persons.

Derivation. k of a class is closed under unions: of two boxes that both have none or k of it, so has their union. It is
not monotone: a side that grows has none, then too few, then k, and so on for each class. So classes forbid places of a
line one by one, not a run of places as l does.

Notation
--------
A node's records are at `base + line[z]`, z from s to e, and were at `order` of that before all cuts.
person : (N,), whom k counts; empty where k counts records.  kept : (N,), class of each record by its kept columns.
pair : (N,), class and person together.  seen, tally : space that is all zeros between two calls.

science.md section 1, "Kept columns", and section 5, "Rare classes of kept columns". L. Sweeney, k-anonymity: a model
for protecting privacy, International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002.
"""

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import ByteArray, IndexArray, IntArray


@inner_kernel
def has_persons(
    person: IndexArray, order: IndexArray, base: int, line: IndexArray, s: int, e: int, k: int, seen: IntArray
) -> bool:
    """Whether k different persons are there."""
    count = 0
    for z in range(s, e):
        label = person[order[base + line[z]]]
        if seen[label] == 0:
            seen[label] = 1
            count += 1
    for z in range(s, e):
        seen[person[order[base + line[z]]]] = 0
    return count >= k


@inner_kernel
def has_classes(
    kept: IndexArray,
    pair: IndexArray,
    order: IndexArray,
    base: int,
    line: IndexArray,
    s: int,
    e: int,
    k: int,
    seen: IntArray,
    tally: IntArray,
) -> bool:
    """Whether every kept class that is there is there k times."""
    short = 0
    paired = len(pair) > 0
    for z in range(s, e):
        record = order[base + line[z]]
        if paired:
            if seen[pair[record]] != 0:
                continue
            seen[pair[record]] = 1
        label = kept[record]
        tally[label] += 1
        if tally[label] == 1:
            short += 1
        if tally[label] == k:
            short -= 1
    for z in range(s, e):
        record = order[base + line[z]]
        tally[kept[record]] = 0
        if paired:
            seen[pair[record]] = 0
    return short == 0


@inner_kernel
def forbid_classes(
    kept: IndexArray,
    order: IndexArray,
    base: int,
    line: IndexArray,
    upward: bool,
    k: int,
    seen: IntArray,
    allowed: ByteArray,
) -> None:
    """Forbid places where the side that grows has between 1 and k - 1 records of a class. O(m)."""
    m = len(line)
    short = 0
    for count in range(1, m):
        label = kept[order[base + line[count - 1 if upward else m - count]]]
        seen[label] += 1
        if seen[label] == 1:
            short += 1
        if seen[label] == k:
            short -= 1
        if short > 0:
            allowed[count if upward else m - count] = 0
    for count in range(1, m):
        seen[kept[order[base + line[count - 1 if upward else m - count]]]] = 0
