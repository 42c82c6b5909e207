"""`surebox demo`: the whole service on real microdata, from upload to release, then everything stopped.

The service is a child of the demo, on a folder of its own; the kernels that its jobs need are compiled while it starts.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.progress import Progress

from app.demo.client import Client, DemoError
from app.demo.report import RARE, how_to_go_on, show, show_rare
from app.demo.sources import Source, census, named
from app.embedded.broker import free_port
from app.errors import CannotStartError
from app.processes.cores import usable_cores
from app.processes.tied import tied_to_parent

DATA_DIR = Path(".surebox/demo")
_MOST_COLUMNS = 4
_LEAST_DISTINCT = 10
_MOST_SETS, _MOST_VALUES = 2, 20
#: Besides Surebox's own way, which alone is published, another partition.
_COMPARED: dict[str, dict[str, Any]] = {"Surebox": {"publish": "auto"}, "Mondrian": {"partition": "mondrian"}}
#: Statistics that are about numbers alone.
_OF_NUMBERS = ("mean", "variance", "standard_deviation", "covariance", "correlation", "regression")
_START_SECONDS = 90.0
#: Methods that the demo's uploads and jobs run; `make install` compiles all.
_METHODS = ("boxes", "ingest", "publication")


def run(data: list[Path], *, k: int = 5, data_dir: Path = DATA_DIR) -> None:
    """Anonymize the named files, or a census extract, and print what came of it.

    Raises
    ------
    DemoError
        The service refused something.
    CannotStartError
        A file, a package or a server is missing.
    """
    folder = data_dir.absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    sources = named(data) if data else [census(folder)]
    console = Console(width=None if Console().is_terminal else 180)
    console.print("Compiling what the demo needs for this machine (make install compiles everything)")
    console.print("Starting Postgres, Valkey, the API and its workers")
    started = time.monotonic()
    with compiling() as compilation, running(folder, console, compilation, jobs=1 + len(RARE)) as (address, key):
        console.print(f"Service ready after {time.monotonic() - started:.1f} s at {address}", highlight=False)
        compilation.wait(console)
        client = Client(address, key)
        for source in sources:
            job, released = _one(console, client, source, k=k, folder=folder)
    how_to_go_on(console, data_dir=folder, released=released, job=job)


def _one(console: Console, client: Client, source: Source, *, k: int, folder: Path) -> tuple[dict[str, Any], Path]:
    dataset = client.upload(source)
    numbers, words = _choose(dataset) if source.columns is None else _parted(source)
    columns = [*numbers, *words]
    console.print(
        f"Uploaded {dataset['rows']:,} records of {len(dataset['columns'])} columns; anonymizing {', '.join(columns)}",
        highlight=False,
    )
    spec = {
        "method": "boxes",
        "dataset_id": dataset["id"],
        "quasi_identifiers": columns,
        "k": k,
        "missing_policy": "drop",
    }
    if source.statistics:
        spec |= {"statistics": source.statistics, "nominal": source.nominal}
    # Others before, so that the times below are those of a service in use: a fresh worker loads its kernels once.
    others = {"Warming up": spec} | (_rare(spec, numbers) if numbers else {})
    submitted = {name: client.submit(one) for name, one in others.items()}
    results = {name: _finished(console, client, name, job)["result"] for name, job in submitted.items()}
    jobs, seconds = {}, {}
    for name, options in _COMPARED.items():
        began = time.monotonic()
        jobs[name] = _finished(console, client, name, client.submit(spec | options))
        seconds[name] = time.monotonic() - began
    released = folder / f"{source.name}-release.csv"
    client.download(jobs["Surebox"]["release_id"], released)
    show(console, source, jobs["Surebox"], jobs["Mondrian"], seconds)
    if numbers:
        show_rare(console, {name: results[name] for name in RARE})
    return jobs["Surebox"], released


def _rare(spec: dict[str, Any], numbers: list[str]) -> dict[str, dict[str, Any]]:
    """What can become of rare records, of the columns of numbers alone: `weigh` takes no others. None is published."""
    only: dict[str, Any] = {"quasi_identifiers": numbers, "nominal": {}, "publish": "draft"}
    if "statistics" in spec:
        named = [one for one in spec["statistics"] if one["kind"] in _OF_NUMBERS and set(one["of"]) <= set(numbers)]
        only["statistics"] = named
    return {name: spec | only | {"rare_records": name} for name in RARE}


def _parted(source: Source) -> tuple[list[str], list[str]]:
    columns = source.columns or ()
    return [c for c in columns if c not in source.nominal], [c for c in columns if c in source.nominal]


def _finished(console: Console, client: Client, name: str, job: dict[str, Any]) -> dict[str, Any]:
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(name, total=1.0)

        def shown(fraction: float, stage: str) -> None:
            progress.update(task, completed=fraction, description=f"{name}: {stage}")

        return client.finished(job, shown=shown)


def _choose(dataset: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the first numeric columns with many values, which point at people, and the first of a few words."""
    numbers = [
        column["name"]
        for column in dataset["columns"]
        if column["type"] in {"integer", "number"} and column["distinct"] >= _LEAST_DISTINCT
    ]
    words = [
        column["name"]
        for column in dataset["columns"]
        if column["type"] in {"string", "boolean"} and 2 <= column["distinct"] <= _MOST_VALUES
    ]
    if not numbers and not words:
        detail = f"no numeric column with {_LEAST_DISTINCT} or more values, and none of 2 to {_MOST_VALUES} words"
        raise DemoError(f"{dataset['name']} has {detail}")
    return numbers[:_MOST_COLUMNS], words[:_MOST_SETS]


@contextmanager
def running(data_dir: Path, console: Console, compilation: "Compilation", *, jobs: int) -> Iterator[tuple[str, str]]:
    """Start `surebox serve` on `data_dir`, with a worker for each of its jobs at once; stop it at the end.

    It has as long as the compiler works, and some time from then on.

    Yields
    ------
    tuple of str
        Its address and the admin key.
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    log = data_dir / "demo.log"
    options = ["--port", str(port), "--data-dir", str(data_dir), "--workers", str(min(jobs, usable_cores()))]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "REDIS_URL", "STORAGE_URL"} and not name.startswith("SUREBOX_")
    } | {"SUREBOX_WARM_KERNELS": "false"}  # the demo compiles what its jobs need, and the service soon stops
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "serve", *options],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    try:
        _wait_ready(process, address, log, console, compilation)
        yield address, (data_dir / "admin.key").read_text().strip()
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(
    process: subprocess.Popen[bytes], address: str, log: Path, console: Console, compilation: "Compilation"
) -> None:
    until = time.monotonic() + _START_SECONDS
    with (
        httpx.Client(base_url=address, timeout=2, trust_env=False) as http,  # one: each loads its authorities
        console.status("Waiting for the service …") as status,
    ):
        while time.monotonic() < until:
            if process.poll() is not None:
                lines = log.read_text(errors="replace").strip().splitlines()
                raise CannotStartError(f"The service did not start: {lines[-1] if lines else 'no message'}")
            if compilation.works():  # it has the cores: the service starts as slowly as they leave it
                until = time.monotonic() + _START_SECONDS
            missing = _missing(http)
            if not missing:
                return
            also = "; the algorithms are being compiled for this machine" if compilation.works() else ""
            status.update(f"Waiting for {missing}{also} …")
            time.sleep(0.1)
    raise CannotStartError(f"The service was not ready in {_START_SECONDS:g} s; see {log}.")


def _missing(http: httpx.Client) -> str:
    """The parts of the service that are not there yet, in words; empty once all are."""
    try:
        answer = http.get("/readyz")
    except httpx.TransportError:
        return "the API"
    if answer.status_code == httpx.codes.OK:
        return ""
    with suppress(ValueError, KeyError, TypeError):
        return ", ".join(answer.json()["unavailable"])
    return "the service"


@contextmanager
def compiling() -> Iterator["Compilation"]:
    """Begin to compile what this installation lacks; at the end nothing of it is left running."""
    command = [sys.executable, "-m", "app.cli", "kernels", *_METHODS]
    with subprocess.Popen(
        tied_to_parent(command, death_signal=signal.SIGTERM),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield Compilation(process)
        finally:
            process.terminate()


class Compilation:
    """A compiler at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def works(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    def wait(self, console: Console) -> None:
        """Wait for its end, and print what it states meanwhile.

        Raises
        ------
        CannotStartError
            It failed; what it said last.
        """
        line = "no message"
        with console.status("Compiling what the demo needs for this machine …"):
            for line in self._process.stdout or ():
                console.print(line.rstrip(), highlight=False)
        if self._process.wait():
            raise CannotStartError(f"The algorithms could not be compiled: {line.strip()}")
