"""Everything that a service has in one folder, and back."""

import os
from pathlib import Path
from typing import Annotated

import typer

from app.cli_settings import DEFAULT_DATA_DIR, AnyDataDir, load_settings, names_folder, say, settings_of

cli = typer.Typer()

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the backup.")]


@cli.command("backup")
def backup(
    folder: Folder,
    *,
    copy: Annotated[
        bool | None,
        typer.Option("--copy/--list", help="Hold the files, or list them [default: a bucket's are listed]."),
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
    replace: Annotated[bool, typer.Option("--replace", help="Drop what the database of DATABASE_URL holds.")] = False,
    accept_missing: Annotated[
        bool, typer.Option("--accept-missing", help="Go on although rows name files that are nowhere.")
    ] = False,
    data_dir: AnyDataDir = None,
) -> None:
    """Bring a backup back, before any process starts. Files that storage still has stay."""
    from app.embedded.folder import DataFolder
    from app.embedded.offline import make_room, offline
    from app.installation.restore import restore as bring_back
    from app.installation.restore import verified

    settings, manifest = load_settings(), verified(folder)
    if check:
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
