"""The service that a command talks to: at an address, or on a data folder of this machine."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from surebox_client.commands.keys import key_for, key_of_file, secret_of
from surebox_client.commands.options import DATA_DIR, environment
from surebox_client.commands.output import quiet, say

if TYPE_CHECKING:
    from surebox_client import Surebox


@contextmanager
def connected(given: argparse.Namespace, *, methods: Sequence[str] = ()) -> "Iterator[Surebox]":
    """The service, for as long as the command needs it.

    Parameters
    ----------
    given
        The command line.
    methods
        What the command runs: where this machine has yet to compile their algorithms it is said.
    """
    from surebox_client import Surebox

    if url := address(given):
        with Surebox(url, key=key_for(url, given.key_file), ca_file=given.ca_file) as service:
            yield service
        return
    from surebox_client.commands.compiled import make_ready, remember
    from surebox_client.commands.folder import joined

    folder = given.data_dir or DATA_DIR
    compiled = make_ready(folder, methods, say=say)
    with joined(folder, say=progress(given)) as at:
        remember(folder, compiled)
        key = at.key if given.key_file is None else key_of_file(given.key_file)
        with Surebox(at.address, key=key) as service:
            yield service


def address(given: argparse.Namespace) -> str:
    """Address of the service; empty: it is the one of a data folder."""
    return given.url or ("" if given.data_dir else environment("SUREBOX_URL"))


def marking_key(given: argparse.Namespace) -> bytes:
    """What runs are marked with: a secret of the data folder; elsewhere, where nothing stays, the API key."""
    if url := address(given):
        return (key_for(url, given.key_file) or "").encode()
    return secret_of(given.data_dir or DATA_DIR)


def progress(given: argparse.Namespace) -> Callable[[str], None]:
    """What says how far a command is."""
    return quiet if given.quiet else say
