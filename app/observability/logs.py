"""Logs of every process: one JSON object a line on standard error, with request and job ids, never with data.

Our own events name their fields, so nothing is quoted by accident. Other people's messages may quote anything: their
arguments are kept only where we know what they are, and of an exception only its type and where it arose.
"""

import logging
import os
import sys
import traceback
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TextIO

import structlog
from structlog.typing import Processor

from app.settings import Settings

#: Loggers whose arguments are addresses, names and numbers of the service itself.
_TRUSTED: Final = ("uvicorn", "celery.apps", "celery.worker.consumer", "celery.worker.strategy", "kombu", "alembic")
_STDOUT: Final = 1
_STDERR: Final = 2
_LONGEST_FOREIGN: Final = 200
#: Replaced by our own access log, which knows templates in place of URLs.
_SILENT: Final = ("uvicorn.access",)

Event = MutableMapping[str, Any]


class LogFile:
    """Standard error of this process, led to a file; a new one when that was renamed.

    A line is one write, which the system appends whole: processes share a file. A line that is written while the file
    is renamed is in the renamed one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, text: str) -> int:
        """Write a line."""
        with suppress(OSError):  # without room or permission the line goes where the lines before went
            self._follow()
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(_STDERR, data) :]
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def _follow(self) -> None:
        mine = os.fstat(_STDERR)
        with suppress(FileNotFoundError):
            there = self._path.stat()
            if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
                return
        opened = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            stdout = os.fstat(_STDOUT)
            if (stdout.st_dev, stdout.st_ino) == (mine.st_dev, mine.st_ino):
                os.dup2(opened, _STDOUT)
            os.dup2(opened, _STDERR)
        finally:
            os.close(opened)


def configure_logging(settings: Settings) -> None:
    """Set up structlog and the standard library's logging for this process; a second call replaces the first."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared = _shared_processors()
    renderer: Processor = structlog.processors.JSONRenderer() if settings.log_json else structlog.dev.ConsoleRenderer()
    stream: TextIO | LogFile = sys.stderr if settings.log_file is None else LogFile(settings.log_file)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),  # type: ignore[arg-type] # it writes and flushes
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            use_get_message=False,
            pass_foreign_args=True,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    _adopt()
    logging.captureWarnings(True)


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _message,
        _exception,
    ]


def _adopt() -> None:
    """Let the loggers of uvicorn and celery speak through the root's handler only."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "celery", "celery.task", "celery.redirected"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = name not in _SILENT
    logging.getLogger("celery.app.trace").setLevel(logging.WARNING)  # `job.ended` reports what has ended


def _message(_logger: object, _method: str, event: Event) -> Event:
    """Fill in a foreign message's arguments if its logger is trusted; of others keep the first line of the template."""
    record: logging.LogRecord | None = event.get("_record")
    if record is None:
        return event
    arguments = event.pop("positional_args", ())
    if record.name == "py.warnings":
        event["event"] = ": ".join(str(event["event"]).split(": ")[:2])  # file, line and category
    elif not record.name.startswith(_TRUSTED):
        event["event"] = str(event["event"]).partition("\n")[0][:_LONGEST_FOREIGN]
    elif arguments:
        event["event"] = str(event["event"]) % arguments
    return event


def _exception(_logger: object, _method: str, event: Event) -> Event:
    """Replace an exception by its type and where it arose: messages of exceptions may quote data."""
    given = event.pop("exc_info", None)
    if not given:
        return event
    error: BaseException | None
    if isinstance(given, BaseException):
        error = given
    elif isinstance(given, tuple):
        error = given[1]
    else:
        error = sys.exc_info()[1]
    if error is not None:
        event.update(described(error))
    return event


def described(error: BaseException) -> dict[str, Any]:
    """What may be logged of an exception: its type, its causes' types, and where it arose."""
    return {"error": type(error).__name__, "causes": _causes(error), "frames": _frames(error.__traceback__)}


def _causes(error: BaseException) -> list[str]:
    causes: list[str] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(causes) < 10:
        causes.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return causes


def _frames(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
