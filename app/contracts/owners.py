"""What an owner decides for all of its keys."""

from pydantic import Field

from app.contracts.base import Contract


class OwnerSettings(Contract):
    """What an owner has decided."""

    owner: str = Field(description="Whose settings they are: the owner of the key.")
    jobs_publish: bool = Field(
        description="Whether jobs publish what they make (`publish: auto`) whichever key created them. False: only "
        "those of keys with `releases:publish` do, all others leave drafts."
    )


class OwnerChanges(Contract):
    """What an owner decides otherwise."""

    jobs_publish: bool | None = Field(
        default=None,
        strict=True,
        description="Whether jobs publish what they make, whichever key created them; null: as it is.",
    )
