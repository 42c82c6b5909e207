"""Records of the data that are not in the release, counted by reason: for the owner alone."""

from workers.methods.report.facts import JsonObject
from workers.methods.report.page import Section

#: Why records are in no release, by the names of the result.
_REASONS = {
    "missing": "lack a value",
    "rare": "are rare",
    "rare_class": "have a value that too few share",
}


def left_out(result: JsonObject, *, counted: bool) -> Section:
    """State how many records are released, and by reason how many are not.

    Parameters
    ----------
    result
        Of a job that made a release; other results have nothing of it.
    counted
        Whether the rows of the data count persons, who are the records.
    """
    one, those = ("a person", "persons") if counted else ("a record", "records")
    title = f"{those.capitalize()} in the release"
    records, released = result.get("records"), result.get("released")
    if records is None or released is None:
        return Section(title)
    if records == released:
        return Section(title, sentences=(f"All {records:,} {those} are in the release.",))
    suppressed = {why: number for why, number in (result.get("suppressed") or {}).items() if number}
    reasons = [f"{number:,} {_REASONS.get(why, why)}" for why, number in suppressed.items()]
    waiting = records - released - sum(suppressed.values())
    reasons += [f"{waiting:,} wait for a later version"] if waiting > 0 else []
    return Section(
        title,
        sentences=(
            (
                f"{released:,} of {records:,} {those} are in the release. {records - released:,} are not: "
                f"{', '.join(reasons)}. Readers do not learn how many, for the number can reveal {one}."
            ),
        ),
    )
