"""Commands of the operator: backups, what belongs together, the held-back publications. No service has to run."""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from app.cli.commands import Commands
from app.cli.settings import (
    DEFAULT_DATA_DIR,
    AnyDataDir,
    DataDir,
    load_settings,
    names_folder,
    one_of,
    open_database,
    opened,
    require,
    say,
    settings_of,
)

#: Of commands whose arguments another program reads.
PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

cli = Commands()
installation = Commands(help="Which database and storage belong together.", no_args_is_help=True)
publishing = Commands(help="Whether releases are published at the moment.", no_args_is_help=True)
storage = Commands(help="Whether files in storage are sealed, and under which key.", no_args_is_help=True)
provenance = Commands(help="The chain of an owner's published releases.", no_args_is_help=True)
for name, group in {
    "installation": installation,
    "publishing": publishing,
    "storage": storage,
    "provenance": provenance,
}.items():
    cli.add_typer(group, name=name)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the backup.")]


@cli.command("backup")
def backup(
    folder: Folder,
    *,
    copy: Annotated[
        bool | None,
        typer.Option("--copy/--list", help="Copy the files, or list them (default: those of a bucket are listed)."),
    ] = None,
    data_dir: AnyDataDir = None,
) -> None:
    """Write database, files and secrets to a new folder, of one moment, whether or not the service runs."""
    from app.embedded.folder import DataFolder
    from app.installation.backup import backup as write_backup

    os.umask(0o077)  # tables and files are as secret as keys
    settings = load_settings()
    if not names_folder(settings, data_dir):
        manifest = write_backup(settings, folder, copy=copy, say=say)
    else:
        place = DataFolder(data_dir or DEFAULT_DATA_DIR)
        with settings_of(place) as ours:
            key = place.admin_key.read_text().strip() if place.admin_key.exists() else ""
            manifest = write_backup(ours, folder, copy=copy, say=say, admin_key=key)
    rows = sum(table.rows for table in manifest.tables)
    typer.echo(f"{folder}: {rows} rows, {manifest.files} files of {manifest.file_bytes} bytes, of {manifest.made_at}")


@cli.command("restore")
def restore(
    folder: Folder,
    *,
    check: Annotated[bool, typer.Option("--check", help="Read every file of the backup, and change nothing.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Drop all data of the database of DATABASE_URL.")] = False,
    accept_missing: Annotated[
        bool, typer.Option("--accept-missing", help="Go on although files are missing or damaged.")
    ] = False,
    data_dir: AnyDataDir = None,
) -> None:
    """Bring a backup back, before any process starts. Files that storage still has stay."""
    from app.embedded.folder import DataFolder
    from app.embedded.offline import make_room, offline
    from app.installation.restore import refuse_damaged, verified
    from app.installation.restore import restore as bring_back

    settings, manifest = load_settings(), verified(folder)
    if check:
        refuse_damaged(folder, manifest)
        typer.echo(f"{folder} is whole: a backup of {manifest.made_at}")
        return
    options = {"replace": replace, "accept_missing": accept_missing}
    if not names_folder(settings, data_dir):
        bring_back(settings, folder, manifest, **options, say=say)
    else:
        place = DataFolder(data_dir or DEFAULT_DATA_DIR)
        make_room(place, folder, manifest, say=say)
        with offline(place) as ours:
            bring_back(ours, folder, manifest, **options, say=say)
    typer.echo("Restored. Start the service.")


@installation.command("adopt")
def adopt(data_dir: AnyDataDir = None) -> None:
    """State that this database and this storage belong together, whatever ids they have."""
    from app.installation import check
    from app.storage.factory import open_storage

    with opened(data_dir) as (settings, database):
        check.adopt(database=database, storage=open_storage(settings), say=say)
    say("Database and storage have the same id now.")


@cli.command("orphans")
def orphans(
    *,
    discard: Annotated[bool, typer.Option("--discard", help="Move them to the trash, however many they are.")] = False,
    data_dir: AnyDataDir = None,
) -> None:
    """Count stored objects that no row points to; housekeeping leaves them alone where they are too many."""
    from app.db.digests import DatabaseDigests
    from app.housekeeping.orphans import Orphans
    from app.storage.factory import open_storage

    with opened(data_dir) as (settings, database):
        ours = Orphans(settings, database=database, storage=open_storage(settings, DatabaseDigests(database)))
        census, held = ours.look(Event(), discard=discard)
    typer.echo(f"{census.orphans} of {census.objects} objects that are old enough have no row")
    if discard:
        say(f"{len(census.keys)} are in the trash now, for {settings.trash_days:g} days.")
    elif held:
        say("Housekeeping leaves them alone. If this database is the right one: surebox orphans --discard")


@cli.command("log")
def show_log(
    owner: Annotated[
        str | None, typer.Option(help="Only of this owner (default: all); '' for what concerns the service.")
    ] = None,
    action: Annotated[
        list[str] | None, typer.Option(help="Only this action (default: all); repeat it for several.")
    ] = None,
    subject: Annotated[str | None, typer.Option(help="Only actions on this id (default: all).")] = None,
    created_after: Annotated[
        datetime | None, typer.Option(help="Only entries after this time in UTC (default: all).")
    ] = None,
    created_before: Annotated[
        datetime | None, typer.Option(help="Only entries before this time in UTC (default: all).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="Most entries, the newest.")] = 200,
    data_dir: AnyDataDir = None,
) -> None:
    """Print the audit log of all owners, newest first, one JSON object a line."""
    from app.contracts.log import LogAction
    from app.db.repositories.audit import LogFilter
    from app.releases.log import read_log

    only = LogFilter(
        owner=owner,
        actions=tuple(one_of(LogAction, each) for each in action or ()),
        subject=subject,
        after=None if created_after is None else created_after.replace(tzinfo=UTC),
        before=None if created_before is None else created_before.replace(tzinfo=UTC),
    )
    with opened(data_dir) as (_, database):
        for each in read_log(database=database, only=only, before=None, limit=limit, findings=True):
            typer.echo(json.dumps({"owner": each.owner, **each.entry.model_dump(mode="json")}, ensure_ascii=False))


@publishing.command("status")
def status(data_dir: AnyDataDir = None) -> None:
    """Show whether publishing is held, and why."""
    from app.db.repositories.installation import is_publishing_held

    with opened(data_dir) as (_, database), database.read() as connection:
        because = is_publishing_held(connection)
    typer.echo("releases are published" if because is None else f"held: {because}")


@publishing.command("hold")
def hold(
    because: Annotated[str, typer.Option(help="Why; owners read it.")],
    data_dir: AnyDataDir = None,
) -> None:
    """Publish nothing from now on: jobs make drafts."""
    from app.db.repositories.installation import hold_publishing

    with opened(data_dir) as (_, database), database.unit_of_work() as unit:
        hold_publishing(unit.connection, because=because)
    say("Nothing is published from now on; `surebox publishing confirm` ends that.")


@publishing.command("confirm")
def confirm(data_dir: AnyDataDir = None) -> None:
    """State that all that was ever published is known here: releases are published again."""
    from app.installation.check import confirm_publishing
    from app.storage.factory import open_storage

    with opened(data_dir) as (settings, database):
        held = confirm_publishing(database=database, storage=open_storage(settings))
    say("Releases are published again." if held else "Nothing was held.")


@storage.command("status")
def storage_status(data_dir: AnyDataDir = None) -> None:
    """Count the files in storage by what they are sealed under."""
    from app.installation.sealing import census, sealed_storage
    from app.storage.sealed import Seal

    with opened(data_dir) as (settings, _):
        seals = census(sealed_storage(settings))
    typer.echo(f"{seals[Seal.PRESENT]} sealed under SUREBOX_STORAGE_KEY")
    typer.echo(f"{seals[Seal.PREVIOUS]} sealed under SUREBOX_PREVIOUS_STORAGE_KEY")
    typer.echo(f"{seals[Seal.UNKNOWN]} sealed under another key")
    typer.echo(f"{seals[Seal.NONE]} not sealed")


@storage.command("check")
def storage_check(data_dir: AnyDataDir = None) -> None:
    """Read every stored file and compare it with the digest of the written one; exit 1 where one is damaged."""
    from app.housekeeping.scrub import Scrub
    from app.observability.logs import configure_logging
    from app.storage.factory import open_storage

    with opened(data_dir) as (settings, database):
        configure_logging(settings)
        count, damaged = Scrub(settings, database=database, storage=open_storage(settings)).read_all()
    for key in damaged:
        typer.echo(key)
    typer.echo(f"{len(damaged)} of {count} files are damaged or missing.")
    if damaged:
        raise typer.Exit(1)


@storage.command("seal")
def seal(
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Open all files instead, with every process stopped.")] = False,
    data_dir: AnyDataDir = None,
) -> None:
    """Seal objects of the previous key, and unsealed ones, under SUREBOX_STORAGE_KEY, while the service runs."""
    from app.installation.sealing import open_all, seal_all, sealed_storage

    with opened(data_dir) as (settings, database):
        ours = sealed_storage(settings)
        count = (open_all if undo else seal_all)(database=database, storage=ours)
    say(f"{count} files were written again.")
    if undo:
        say("Unset SUREBOX_STORAGE_KEY before you start the service.")
    else:
        say("Housekeeping writes publications again; `surebox storage status` shows the rest.")


@provenance.command("verify")
def verify_provenance(
    owner: Annotated[str | None, typer.Option(help="Only the chain of this owner (default: of all).")] = None,
    data_dir: DataDir = None,
) -> None:
    """Follow the chain of each owner's published releases; exit code 1 when one is broken."""
    from app.certificates.chain import verify_chains

    _, database = open_database(data_dir)
    chains = verify_chains(database=database, owner=owner)
    for each in chains:
        summary = f"{each.certificates} certificates ({each.erased} of deleted releases), head {each.head}"
        typer.echo(f"{each.owner}\t{'BROKEN' if each.broken else 'whole'}\t{summary}")
        for fault in each.broken:
            typer.echo(f"  {fault}")
    if any(each.broken for each in chains):
        raise typer.Exit(1)


@cli.command(context_settings=PASSED_ON, add_help_option=False)
def verify(context: typer.Context) -> None:
    """Verify a release against its certificate, offline: surebox verify FILE --keys jwks.json."""
    become_reader("verify", context.args)


@cli.command(context_settings=PASSED_ON, add_help_option=False)
def certify(context: typer.Context) -> None:
    """Certain ranges of more statistics of a release: surebox certify FILE --statistic 'mean(age)'."""
    become_reader("certify", context.args)


def become_reader(command: str, arguments: list[str]) -> None:
    """Become a command of the distribution `surebox-verify`, which knows no service."""
    require("surebox_verify")
    os.execv(sys.executable, [sys.executable, "-P", "-m", "surebox_verify", command, *arguments])  # noqa: S606
