"""What the exit code of a command says, in one table for all of them; `verify` and `certify` have their own."""

from enum import IntEnum
from typing import Final

from surebox_client import errors


class Exit(IntEnum):
    """Exit codes, as docs/tutorials/command-line.md lists them."""

    DONE = 0
    SERVICE = 1
    USAGE = 2
    DRAFT = 3
    REFUSED = 4
    TIMEOUT = 5
    INTERRUPTED = 130


#: What each means, as help prints it.
MEANINGS: Final = {
    Exit.DONE: "done as requested: a draft, with --publish published; an audit passed",
    Exit.SERVICE: "the service failed or was not reached",
    Exit.USAGE: "the command line is wrong, a file is missing, or no quasi-identifiers were given",
    Exit.DRAFT: "a publication that was requested did not happen, or an audit's demand is not met",
    Exit.REFUSED: "the service refused: the key, the file, or a request that cannot be met",
    Exit.TIMEOUT: "the time of --timeout is over; the job goes on",
    Exit.INTERRUPTED: "interrupted (Ctrl-C, SIGTERM); the job goes on",
}

#: Answers that say nothing against the request: the same may be sent again.
_NOT_REFUSALS: Final = (408, 425, 429)


class UsageError(Exception):
    """The command line asks for what cannot be; nothing was done."""


def exit_of(error: Exception) -> Exit:
    """The exit code of an error that a command ends with."""
    if isinstance(error, errors.JobFailed):
        return exit_of(error.problem)
    if isinstance(error, errors.WaitTimedOut):
        return Exit.TIMEOUT
    if isinstance(error, errors.UnresolvedFindingsError):
        return Exit.DRAFT
    if isinstance(error, errors.ProblemError):
        refused = 400 <= error.status < 500 and error.status not in _NOT_REFUSALS
        return Exit.REFUSED if refused else Exit.SERVICE
    if isinstance(error, (UsageError, errors.UploadError)):
        return Exit.USAGE
    return Exit.SERVICE
