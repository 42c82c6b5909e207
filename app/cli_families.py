"""Commands about which data are the same, and about what owners decide for all of their keys."""

from typing import Annotated

import typer

from app.cli_settings import DataDir, one_of, open_database

families = typer.Typer(
    help="Show, confirm and erase families: what is the same data, and what was published of it.", no_args_is_help=True
)
quotas = typer.Typer(help="Show and change what an owner may keep, and take in a day.", no_args_is_help=True)
owners = typer.Typer(help="Show and change what an owner decides for all of its keys.", no_args_is_help=True)

Owner = Annotated[str, typer.Option(help="Which owner.")]
ResourceArgument = Annotated[
    str, typer.Argument(metavar="RESOURCE", help="rows, bytes, datasets, releases, jobs or cpu_seconds.")
]
FamilyId = Annotated[str, typer.Argument(help="The id of the family (fam_…).")]


@families.command("list")
def list_all(owner: Owner, data_dir: DataDir = None) -> None:
    """List families, newest first: id, datasets, publications, and whether a keeper has confirmed them."""
    from app.releases.families import list_families

    _, database = open_database(data_dir)
    for one in list_families(database=database, owner=owner):
        state = "apart" if one.apart else "confirmed" if one.confirmed else "unconfirmed"
        typer.echo("\t".join([one.id, str(len(one.datasets)), str(len(one.published)), state]))


@families.command("show")
def show(family_id: FamilyId, owner: Owner, data_dir: DataDir = None) -> None:
    """Show what a family holds and why, and what was published of it."""
    from app.releases.families import read_family

    _, database = open_database(data_dir)
    family = read_family(database=database, owner=owner, family_id=family_id)
    for one in family.datasets:
        typer.echo(f"{one.dataset_id}\t{one.name}\t{one.created_at:%Y-%m-%dT%H:%M:%SZ}\t{one.because}")
    for entry in family.published:
        k = "" if entry.composition is None else f"k {entry.composition.composed_k:g} together"
        typer.echo(f"{entry.release_id}\t{entry.method}\t{entry.published_at:%Y-%m-%dT%H:%M:%SZ}\t{k}")


@families.command("confirm")
def confirm(family_id: FamilyId, owner: Owner, data_dir: DataDir = None) -> None:
    """Vouch for data that came by a key without jobs:read: they are compared with others, and may be published."""
    from app.releases.families import confirm_family

    _, database = open_database(data_dir)
    confirm_family(database=database, owner=owner, key_id=None, family_id=family_id)
    typer.echo(f"{family_id} is confirmed.", err=True)


@families.command("erase")
def erase(family_id: FamilyId, owner: Owner, data_dir: DataDir = None) -> None:
    """Forget a family, to start clean after trials: later releases are composed with nothing of it."""
    from app.releases.families import erase_family

    _, database = open_database(data_dir)
    erase_family(database=database, owner=owner, key_id=None, family_id=family_id)
    typer.echo(f"{family_id} is forgotten.", err=True)


@owners.command("show")
def show_owner(owner: Owner, data_dir: DataDir = None) -> None:
    """Show what an owner has decided."""
    from app.releases.owners import read_owner

    _, database = open_database(data_dir)
    typer.echo(f"jobs-publish\t{str(read_owner(database=database, owner=owner).jobs_publish).lower()}")


@owners.command("set")
def change_owner(
    owner: Owner,
    jobs_publish: Annotated[bool, typer.Option(help="Whether jobs publish what they make, for any of its keys.")],
    data_dir: DataDir = None,
) -> None:
    """Change what an owner decides."""
    from app.contracts.owners import OwnerChanges
    from app.releases import owners as use_cases

    _, database = open_database(data_dir)
    use_cases.change_owner(database=database, owner=owner, key_id=None, changes=OwnerChanges(jobs_publish=jobs_publish))


@quotas.command("show")
def show_usage(owner: Owner, data_dir: DataDir = None) -> None:
    """Show what an owner uses: resource, used, limit."""
    from app.jobs.quotas import read_usage

    settings, database = open_database(data_dir)
    for each in read_usage(database=database, owner=owner, settings=settings).quotas:
        typer.echo(f"{each.resource.value}\t{each.used or 0:.0f}\t{each.limit:.0f}")


@quotas.command("set")
def set_limit(
    resource: ResourceArgument,
    limit: Annotated[float, typer.Argument(min=0, help="How much of it the owner may have.")],
    owner: Owner,
    data_dir: DataDir = None,
) -> None:
    """Let an owner have more or less than all owners. What it has already stays."""
    from app.contracts.usage import LimitedResource
    from app.jobs.quotas import change_limit

    _, database = open_database(data_dir)
    change_limit(database=database, owner=owner, resource=one_of(LimitedResource, resource), maximum=limit)


@quotas.command("reset")
def reset_limit(resource: ResourceArgument, owner: Owner, data_dir: DataDir = None) -> None:
    """Let an owner have what all owners may."""
    from app.contracts.usage import LimitedResource
    from app.jobs.quotas import change_limit

    _, database = open_database(data_dir)
    change_limit(database=database, owner=owner, resource=one_of(LimitedResource, resource), maximum=None)
