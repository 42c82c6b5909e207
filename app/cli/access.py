"""Commands about who may do what: API keys, the keys that sign, families, owners, quotas."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.commands import Commands
from app.cli.settings import DEFAULT_DATA_DIR, DataDir, load_settings, names_folder, one_of, open_database
from app.errors import CannotStartError

if TYPE_CHECKING:
    from app.auth.keys import KeyInfo
    from app.contracts.owners import Quota

keys = Commands(help="Make, list and revoke API keys.", no_args_is_help=True)
families = Commands(
    help="Show, confirm and erase families: sameness of data, and the published part of it.", no_args_is_help=True
)
quotas = Commands(help="Show and change what an owner may keep, and take in a day.", no_args_is_help=True)
owners = Commands(help="Show and change what an owner decides for all of its keys.", no_args_is_help=True)

Owner = Annotated[str, typer.Option(help="The owner, as keys name it.")]
ResourceArgument = Annotated[
    str, typer.Argument(metavar="RESOURCE", help="rows, bytes, datasets, releases, jobs or cpu_seconds.")
]
OwnerOfFamily = Annotated[
    str | None, typer.Option(help="Owner of the family (default: looked up).", show_default=False)
]
FamilyId = Annotated[str, typer.Argument(help="The id of the family (fam_…).")]


@keys.command("create")
def create_key(
    owner: Annotated[str, typer.Option(help="Owner of the key, which sees the objects of this owner only.")],
    name: Annotated[str, typer.Option(help="Purpose of the key, for you to recognize it.")],
    scope: Annotated[
        list[str],
        typer.Option(
            help="What the key may do: datasets:write, datasets:read, jobs:write, jobs:read, releases:read, "
            "releases:write, releases:publish, or admin for all. Repeat the option, or write commas between scopes."
        ),
    ],
    expires_days: Annotated[
        float | None, typer.Option(min=0.001, max=36_500, help="Days until the key expires (default: never).")
    ] = None,
    renewable_days: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=36_500,
            help="Days within which the holder may renew the key, each time for --expires-days (default: never).",
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a key and print it. It is shown this once only."""
    from app.auth import keys as use_cases

    settings, database = open_database(data_dir)
    now = datetime.now(UTC)
    scopes = [part.strip() for value in scope for part in value.split(",")]
    info, key = use_cases.create_key(
        database=database,
        secret=settings.server_secret,
        owner=owner,
        scopes=scopes,
        name=name,
        now=now,
        expires_at=None if expires_days is None else now + timedelta(days=expires_days),
        renewable_until=None if renewable_days is None else now + timedelta(days=renewable_days),
    )
    typer.echo(f"{info.id} for {info.owner} ({', '.join(info.scopes)}); the key, shown this once:", err=True)
    typer.echo(key)


@keys.command("list")
def list_keys(
    owner: Annotated[str | None, typer.Option(help="Only the keys of this owner (default: of all).")] = None,
    data_dir: DataDir = None,
) -> None:
    """List keys, revoked ones too: id, owner, name, scopes, made, whether valid, last use, expiry, secret, renewals."""
    from app.auth import keys as use_cases

    settings, database = open_database(data_dir)
    present = use_cases.name_of(use_cases.check_secret(settings.server_secret))
    for info in use_cases.list_keys(database=database, owner=owner):
        typer.echo("\t".join(_shown(info, present=present)))


def _shown(info: "KeyInfo", *, present: bytes) -> list[str]:
    """A key as a line of the list."""
    state = "valid"
    if info.revoked_at:
        state = f"revoked {_instant(info.revoked_at)}"
    elif info.expires_at and info.expires_at < datetime.now(UTC):
        state = f"expired {_instant(info.expires_at)}"
    return [
        *(info.id, info.owner, info.name, ",".join(info.scopes), _instant(info.created_at), state),
        f"used {_instant(info.used_at)}" if info.used_at else "never used",
        f"expires {_instant(info.expires_at)}" if info.expires_at else "does not expire",
        "present secret" if info.hashed_under == present else "former or unknown secret",
        f"renewable until {_instant(info.renewable_until)}" if info.renewable_until else "not renewable",
        *([f"renews {info.renewed_from}"] if info.renewed_from else []),
    ]


@keys.command("rotate-secret")
def rotate_secret(
    overlap_days: Annotated[
        float, typer.Option(min=0, max=36_500, help="Days for which the former secret is still accepted.")
    ] = 30.0,
    data_dir: DataDir = None,
) -> None:
    """Have another server secret. Keys go on: each is stored under the new one when it is used in the overlap."""
    from app.auth.keys import new_secret
    from app.embedded.folder import DataFolder

    settings = load_settings()
    if names_folder(settings, data_dir):
        folder = DataFolder(data_dir or DEFAULT_DATA_DIR)
        folder.change_server_secret(new_secret(), overlap_days=overlap_days)
        news = f"the new secret holds from then on, the former for {overlap_days:g} days next to it."
        typer.echo(f"Start the service again: {news}", err=True)
        return
    typer.echo(
        "Set SUREBOX_PREVIOUS_SERVER_SECRET to what SUREBOX_SERVER_SECRET is, and SUREBOX_SERVER_SECRET to this, for\n"
        "all processes, and restart them. Take the former away once `surebox keys list` shows no key under it:",
        err=True,
    )
    typer.echo(new_secret())


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="The id of the key (key_…), not the key itself.")],
    data_dir: DataDir = None,
) -> None:
    """Revoke a key, and those that it was renewed to; they stop working within seconds."""
    from app.auth import keys as use_cases

    _, database = open_database(data_dir)
    revoked = use_cases.revoke_key(database=database, key_id=key_id, now=datetime.now(UTC))
    if not revoked:
        raise CannotStartError(f"No valid key has the id {key_id}; `surebox keys list` shows them.")
    for each in revoked:
        typer.echo(f"{each} is revoked.", err=True)


@keys.command("rotate-signing")
def rotate_signing(
    overlap_days: Annotated[
        float, typer.Option(min=0, help="Days for which the old keys sign next to the new one.")
    ] = 30.0,
    data_dir: DataDir = None,
) -> None:
    """Make a new key that signs certificates; the old ones sign next to it for a while, then retire."""
    from app.certificates.rotate import rotate
    from app.processes.private import write_private

    settings, database = open_database(data_dir)
    key_id, pem = rotate(
        database=database, settings=settings, overlap=timedelta(days=overlap_days), write=write_private
    )
    typer.echo(f"{key_id} signs from now on; the others for {overlap_days:g} days next to it.", err=True)
    if pem is not None:
        typer.echo("Put this before the keys in SUREBOX_SIGNING_KEY and restart; it is shown this once:", err=True)
        typer.echo(pem, nl=False)


@keys.command("revoke-signing")
def revoke_signing(
    key_id: Annotated[str, typer.Argument(help="The id (`kid`) of a key in /.well-known/jwks.json.")],
    reason: Annotated[str, typer.Option(help="Why; readers see it.")],
    data_dir: DataDir = None,
) -> None:
    """Trust a signing key no more, whatever it signed. Rotate first, so that another one signs."""
    from app.certificates.rotate import revoke

    _, database = open_database(data_dir)
    revoke(database=database, key_id=key_id, reason=reason)
    typer.echo(f"{key_id} is revoked.", err=True)


@families.command("list")
def list_families(owner: Owner, data_dir: DataDir = None) -> None:
    """List families, newest first: id, datasets, publications, and whether their data are confirmed."""
    from app.releases import families as use_cases

    _, database = open_database(data_dir)
    for one in use_cases.list_families(database=database, owner=owner):
        state = "apart" if one.apart else "confirmed" if one.confirmed else "unconfirmed"
        typer.echo("\t".join([one.id, str(len(one.datasets)), str(len(one.published)), state]))


@families.command("show")
def show_family(family_id: FamilyId, owner: OwnerOfFamily = None, data_dir: DataDir = None) -> None:
    """Show what a family contains and why, and the published part of it."""
    from app.releases.families import owner_of_family, read_family

    _, database = open_database(data_dir)
    owner = owner or owner_of_family(database=database, family_id=family_id)
    family = read_family(database=database, owner=owner, family_id=family_id)
    for one in family.datasets:
        typer.echo(f"{one.dataset_id}\t{one.name}\t{one.created_at:%Y-%m-%dT%H:%M:%SZ}\t{one.reason}")
    for entry in family.published:
        k = "" if entry.composition is None else f"k {entry.composition.composed_k:g} together"
        typer.echo(f"{entry.release_id}\t{entry.method}\t{entry.published_at:%Y-%m-%dT%H:%M:%SZ}\t{k}")


@families.command("confirm")
def confirm_family(family_id: FamilyId, owner: OwnerOfFamily = None, data_dir: DataDir = None) -> None:
    """Vouch for data that came by a key without jobs:read: they are compared with others, and may be published."""
    from app.releases import families as use_cases

    _, database = open_database(data_dir)
    owner = owner or use_cases.owner_of_family(database=database, family_id=family_id)
    use_cases.confirm_family(database=database, owner=owner, key_id=None, family_id=family_id)
    typer.echo(f"{family_id} is confirmed.", err=True)


@families.command("erase")
def erase_family(
    family_id: FamilyId,
    owner: OwnerOfFamily = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw its published releases first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without asking.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Forget a family, to start clean after trials: later releases are composed with nothing of it."""
    from app.releases import families as use_cases

    _, database = open_database(data_dir)
    owner = owner or use_cases.owner_of_family(database=database, family_id=family_id)
    published = use_cases.published_unless_refused(
        database=database, owner=owner, family_id=family_id, withdraw=withdraw
    )
    family = use_cases.read_family(database=database, owner=owner, family_id=family_id)
    typer.echo(
        f"{family_id} of {owner}: {len(family.datasets)} datasets, {len(family.published)} publications.", err=True
    )
    for entry in family.published:
        if entry.release_id in published:
            typer.echo(f"  {entry.release_id}, published {entry.published_at:%Y-%m-%d}: is withdrawn", err=True)
    if not yes:
        typer.confirm("Later releases are composed with nothing of it. Erase it?", abort=True, err=True)
    use_cases.erase_family(database=database, owner=owner, key_id=None, family_id=family_id, withdraw=withdraw)
    typer.echo(f"{family_id} is forgotten.", err=True)


@owners.command("show")
def show_owner(owner: Owner, data_dir: DataDir = None) -> None:
    """Show what an owner has decided."""
    from app.releases.owners import jobs_may_publish

    _, database = open_database(data_dir)
    typer.echo(f"jobs-may-publish\t{str(jobs_may_publish(database=database, owner=owner)).lower()}")


@owners.command("set")
def change_owner(
    owner: Owner,
    jobs_may_publish: Annotated[bool, typer.Option(help="Let jobs publish their releases, for all keys of the owner.")],
    data_dir: DataDir = None,
) -> None:
    """Change what an owner decides."""
    from app.contracts.owners import OwnerChanges
    from app.releases import owners as use_cases

    _, database = open_database(data_dir)
    use_cases.change_owner(
        database=database, owner=owner, key_id=None, changes=OwnerChanges(jobs_may_publish=jobs_may_publish)
    )


@quotas.command("show")
def show_usage(owner: Owner, data_dir: DataDir = None) -> None:
    """Show what an owner uses: resource, used, limit."""
    from app.jobs.quotas import read_usage

    settings, database = open_database(data_dir)
    for each in read_usage(database=database, owner=owner, settings=settings).quotas:
        _echo_quota(each)


@quotas.command("set")
def set_limit(
    resource: ResourceArgument,
    limit: Annotated[float, typer.Argument(min=0, help="Limit of the owner.")],
    owner: Owner,
    data_dir: DataDir = None,
) -> None:
    """Let an owner have more or less than all owners, and show what holds now. What it has already stays."""
    _change_limit(resource, owner, data_dir, maximum=limit)


@quotas.command("reset")
def reset_limit(resource: ResourceArgument, owner: Owner, data_dir: DataDir = None) -> None:
    """Let an owner have what all owners may, and show what that is."""
    _change_limit(resource, owner, data_dir, maximum=None)


def _change_limit(resource: str, owner: str, data_dir: Path | None, *, maximum: float | None) -> None:
    """Change a limit, and show what holds from now on."""
    from app.contracts.owners import LimitedResource
    from app.jobs.quotas import change_limit, read_usage

    settings, database = open_database(data_dir)
    limited = one_of(LimitedResource, resource)
    change_limit(database=database, owner=owner, resource=limited, maximum=maximum)
    for each in read_usage(database=database, owner=owner, settings=settings).quotas:
        if each.resource is limited:
            _echo_quota(each)


def _echo_quota(quota: "Quota") -> None:
    typer.echo(f"{quota.resource.value}\t{quota.used or 0:.0f}\t{quota.limit:.0f}")
