"""Commands about certificates: keys that sign them, the chain they form, and what readers verify by."""

import os
import sys
from datetime import timedelta
from typing import Annotated

import typer

from app.cli_settings import DataDir, open_database, require

#: Of commands whose arguments another program reads.
PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

cli = typer.Typer()
signing_keys = typer.Typer()
provenance = typer.Typer(help="The chain of an owner's published releases.", no_args_is_help=True)


@signing_keys.command("rotate-signing")
def rotate_signing(
    overlap_days: Annotated[float, typer.Option(min=0, help="How long the old keys sign beside the new one.")] = 30.0,
    data_dir: DataDir = None,
) -> None:
    """Make a new key that signs certificates; the old ones sign beside it for a while, then retire."""
    from app.certificates.rotate import rotate
    from app.processes.private import write_private

    settings, database = open_database(data_dir)
    key_id, pem = rotate(
        database=database, settings=settings, overlap=timedelta(days=overlap_days), write=write_private
    )
    typer.echo(f"{key_id} signs from now on; the others for {overlap_days:g} days beside it.", err=True)
    if pem is not None:
        typer.echo("Put this before the keys in SUREBOX_SIGNING_KEY and restart; it is shown this once:", err=True)
        typer.echo(pem, nl=False)


@signing_keys.command("revoke-signing")
def revoke_signing(
    key_id: Annotated[str, typer.Argument(help="The id (`kid`) of a key in /.well-known/jwks.json.")],
    reason: Annotated[str, typer.Option(help="Why; readers see it.")],
    data_dir: DataDir = None,
) -> None:
    """Trust a signing key no more, whatever it signed. Rotate first, so that another one signs."""
    from app.certificates.rotate import revoke as revoke_key

    _, database = open_database(data_dir)
    revoke_key(database=database, key_id=key_id, reason=reason)
    typer.echo(f"{key_id} is revoked.", err=True)


@provenance.command("verify")
def verify_provenance(
    owner: Annotated[str | None, typer.Option(help="Only the chain of this owner.")] = None,
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
    require("surebox_verify", extras="worker")
    os.execv(sys.executable, [sys.executable, "-P", "-m", "surebox_verify", command, *arguments])  # noqa: S606
