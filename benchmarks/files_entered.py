"""How many source files one request leads through, and how large the source is.

    python benchmarks/files_entered.py [--root another/checkout] [--list boxes]

A service of its own (`surebox serve`, one worker) serves one upload, one job of `boxes` on numbers alone and one
`count` of its release; each once before, so that nothing is imported or compiled meanwhile. A file counts where a line
of a function of it is executed, in any process of the service but housekeeping, or where such a function names a
kernel of it (directly or through other kernels: compiled code leaves no trace). Running a module's top level does not
count. Some files are entered while nobody sends a request, by heartbeats and scrapes; `of_these_idle` says how many.
"""

import argparse
import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.recorded import record  # noqa: E402

COMMAND: Final = "python benchmarks/files_entered.py"
SOURCES: Final = ("app", "workers", "verify")
READY_SECONDS: Final = 600.0
#: What every process of the service runs first: it notes each file that it enters, and during which walk.
TRACER: Final = """
import mmap, os, sys, threading

_note, _root = os.environ["FILES_ENTERED"], os.environ["FILES_ROOT"]
def _keeps_house():
    with open("/proc/self/comm") as file:
        return file.read().startswith("surebox-house")

if "housekeeping" not in sys.orig_argv:
    with open(_note + "/walk", "rb") as _file:
        _walk = mmap.mmap(_file.fileno(), 1, access=mmap.ACCESS_READ)
    _seen, _codes = set(), set()

    def _add(path):
        key = (_walk[0], path)
        if key not in _seen and not _keeps_house():
            _seen.add(key)
            with open(f"{_note}/{os.getpid()}.txt", "a") as file:
                file.write(f"{key[0]} {path}\\n")

    def _kernels(code, names, seen):
        for name in code.co_names:
            named = names.get(name)
            if type(named).__module__.partition(".")[0] not in ("numba", "surebox_core"):
                continue  # looking at attributes of others may do anything
            function = getattr(named, "py_func", None) or getattr(named, "function", None)
            inner = getattr(function, "__code__", None)
            if inner is None or inner in seen or not inner.co_filename.startswith(_root):
                continue
            seen.add(inner)
            _add(inner.co_filename)
            _kernels(inner, function.__globals__, seen)

    def _trace(frame, event, argument):
        code = frame.f_code
        key = (_walk[0], code)
        if key in _codes:
            return None
        _codes.add(key)
        path = code.co_filename
        if path.startswith(_root) and code.co_name != "<module>" and "__qualname__" not in code.co_names:
            _add(path)
            _kernels(code, frame.f_globals, set())
        return None

    threading.settrace(_trace)
    sys.settrace(_trace)
"""


@contextlib.contextmanager
def service(root: Path, folder: Path) -> Iterator[tuple[httpx.Client, Any]]:
    """A traced service of this checkout: a client of it, and a function that says which walk begins."""
    (folder / "python").mkdir()
    (folder / "python" / "sitecustomize.py").write_text(TRACER)
    note = folder / "notes"
    note.mkdir()
    (note / "walk").write_bytes(b"\0")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("SUREBOX_", "PYTHON"))}
    search = os.pathsep.join(map(str, (root, root / "verify", folder / "python")))
    settings = {
        "PYTHONPATH": search,
        "FILES_ENTERED": str(note),
        "FILES_ROOT": f"{root}/",
        "SUREBOX_WARM_KERNELS": "false",
    }
    log = folder / "log"
    serve = ["serve", "--port", "0", "--data-dir", str(folder / "data"), "--workers", "1"]
    command = [sys.executable, "-m", "app.cli", *serve]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=root, stdout=output, stderr=output, env=ours | settings)
    try:
        until = time.monotonic() + READY_SECONDS
        while (ready := re.search(r"Surebox is ready at (\S+)", log.read_text())) is None:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        key = (folder / "data" / "admin.key").read_text().strip()
        headers = {"Authorization": f"Bearer {key}"}

        def begin(walk: int) -> None:
            with (note / "walk").open("r+b") as file:
                file.write(bytes([walk]))

        with httpx.Client(base_url=ready[1], headers=headers, timeout=300) as client:
            yield client, begin
    finally:
        process.terminate()
        process.wait(120)


def table(seed: int) -> str:
    """A table of numbers alone."""
    rng = random.Random(seed)
    rows = [f"{rng.gauss(40, 12):.1f},{rng.gauss(3000, 900):.0f},{rng.gauss(170, 9):.0f}" for _ in range(400)]
    return "\n".join(["age,income,height", *rows])


def upload(client: httpx.Client, seed: int) -> str:
    answer = client.post(
        "/v1/datasets", params={"name": "people"}, content=table(seed), headers={"Content-Type": "text/csv"}
    )
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["id"])


def ended(client: httpx.Client, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(f"/v1/{kind}", json=body, headers={"Prefer": "wait=30"})
    assert answer.status_code in {httpx.codes.OK, httpx.codes.ACCEPTED}, answer.text
    job: dict[str, Any] = answer.json()
    while job["state"] in {"queued", "running"}:
        job = client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"}).json()
    assert job["state"] == "succeeded", job
    return job


def boxes(client: httpx.Client, dataset_id: str) -> str:
    statistics = [{"kind": "mean", "of": ["age"]}, {"kind": "correlation", "of": ["age", "income"]}]
    names = ["age", "income", "height"]
    body = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": names, "k": 5, "statistics": statistics}
    return str(ended(client, "anonymizations", body)["release_id"])


def count(client: httpx.Client, release_id: str, at_most: float) -> None:
    answer = client.post(
        f"/v1/releases/{release_id}/count",
        json={"queries": [{"age": [None, at_most]}]},
        headers={"Prefer": "wait=30"},
    )
    assert answer.status_code == httpx.codes.OK, answer.text


def walks(root: Path) -> dict[str, set[str]]:
    """The files that each walk enters, by the walk's name."""
    with tempfile.TemporaryDirectory(prefix="fe", dir="/tmp") as made:
        folder = Path(made)
        with service(root, folder) as (client, begin):
            release_id = boxes(client, upload(client, 1))
            count(client, release_id, 50)
            time.sleep(12)  # what follows a request by itself, such as deliveries, is over
            names = ["idle", "upload", "boxes", "count"]
            begin(1)
            time.sleep(10)
            begin(2)
            dataset_id = upload(client, 2)
            begin(3)
            release_id = boxes(client, dataset_id)
            begin(4)
            count(client, release_id, 50)
            begin(0)
        entered: dict[str, set[str]] = {name: set() for name in names}
        for note in (folder / "notes").glob("*.txt"):
            for line in note.read_text().splitlines():
                walk, path = line.split(" ", 1)
                relative = str(Path(path).relative_to(root))
                if walk != "0" and relative.partition("/")[0] in SOURCES:
                    entered[names[int(walk) - 1]].add(relative)
    return entered


def size(root: Path) -> dict[str, float]:
    """Modules of the source, and how long one is."""
    lengths = [
        len(path.read_text().splitlines())
        for source in SOURCES
        for path in (root / source).rglob("*.py")
        if path.name != "__init__.py" and ".venv" not in path.parts
    ]
    return {"modules": len(lengths), "lines": sum(lengths), "median": statistics.median(lengths)}


def main() -> None:
    """Walk, count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--list", choices=["upload", "boxes", "count"])
    options = parser.parse_args()
    root = options.root.resolve()
    entered = walks(root)
    idle = entered.pop("idle")
    figures: dict[str, Any] = size(root)
    for name, paths in entered.items():
        figures[name] = {"files": len(paths), "of_these_idle": len(paths & idle)}
    print(json.dumps(figures))
    if root == ROOT:
        record("files_entered", COMMAND, figures)
    if options.list:
        print("\n".join(sorted(entered[options.list])))


if __name__ == "__main__":
    main()
