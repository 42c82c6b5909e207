"""The question whether data are of the same people as published ones, where the evidence does not decide."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from app.contracts.findings import Finding, FindingSeverity
from app.contracts.flags import Flag
from app.db.repositories import families, recognition
from app.db.repositories.recognition import Question
from app.db.session import Connection

#: By which a finding names it. It is answered, not accepted.
RECOGNITION: Final = "recognition"


def unanswered(questions: Sequence[Question]) -> tuple[Finding, ...]:
    """Findings that keep a release a draft until someone who may publish has answered: one a family.

    Parameters
    ----------
    questions
        About the data of the release; only those count of whose other family something was published.
    """
    first = {one.other_family_id: one for one in reversed(questions) if one.people is None and one.published}
    return tuple(_finding(one) for one in first.values())


@contextmanager
def stating_questions(
    connection: Connection, *, family_ids: Collection[str], composed_anew: Collection[str] = ()
) -> Iterator[None]:
    """Change families; then drafts of theirs, and of families that were asked about them, state what is asked now.

    Parameters
    ----------
    connection
        It has locked the recognising of the owner.
    family_ids
        Families that change, or about which an answer is given.
    composed_anew
        Those of them whose drafts have to be composed again. Others were composed with all that they have to be.
    """
    asked_about = {
        one.other_family_id for each in family_ids for one in recognition.questions(connection, family_id=each)
    }
    concerned = {*family_ids, *asked_about}
    drafts = recognition.drafts(connection, family_ids=concerned, audit=RECOGNITION)
    before = {each: families.lock_composed(connection, family_id=each) for each in sorted(concerned)}
    yield
    for draft in drafts:
        now = recognition.draft(connection, release_id=draft.release_id).family_id
        questions = [] if now is None else recognition.questions(connection, family_id=now)
        composed_after = draft.composed_after
        if now is None or draft.family_id in composed_anew:
            composed_after = -1
        elif composed_after == before[now]:
            composed_after = families.lock_composed(connection, family_id=now)
        kept = [one for one in draft.findings if one["audit"] != RECOGNITION]
        recognition.set_findings(
            connection, release_id=draft.release_id, composed_after=composed_after,
            findings=[*kept, *(one.model_dump(mode="json") for one in unanswered(questions))],
        )  # fmt: skip


def answered_flags(connection: Connection, *, family_id: str | None) -> tuple[str, ...]:
    """The flag of releases of data of which someone has answered what they are the same as."""
    answered = family_id is not None and recognition.is_answered(connection, family_id=family_id)
    return (Flag.DECLARED_DATA.value,) if answered else ()


def _finding(question: Question) -> Finding:
    names = ", ".join(f"`{name}`" for name in question.evidence["columns"])
    agreeing, chance = question.evidence["agreeing"], question.evidence["by_chance"]
    mine, theirs = question.family_id, question.other_family_id
    return Finding(
        audit=RECOGNITION,
        severity=FindingSeverity.HIGH,
        detail=(
            f"The data may be of the same people as {question.other_dataset_id}, of which something was published: "
            f"over {names} {agreeing:.0%} of the records agree, where chance gives {chance:.0%}. That is too much for "
            "chance and too little to decide. A key with releases:publish answers with "
            f'`POST /v1/families/{mine}/answer` and {{"other_family_id": "{theirs}", "people": "same"}} or '
            f'"other", or with `surebox answer {mine} --other {theirs} --people other`; then publish the draft.'
        ),
        measured=agreeing,
        required=chance,
    )
