"""Time the queries of housekeeping and of a submission for an owner of 100,000 releases, beside another checkout.

    PYTHONPATH=. python benchmarks/many_releases.py [--beside DIR]

The rows are written by SQL; then each question is asked five times, and the least time of the clock counts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

RELEASES = 100_000
RUNS = 5
OWNER = "many"
COMMAND = "PYTHONPATH=. python benchmarks/many_releases.py --beside DIR"
FILL = """
INSERT INTO dataset (id, owner, name, state, options, bytes, sha256, rows, data_key)
  VALUES ('ds_1', :owner, 'many', 'ready', '{}', 1, 'd', 10, 'datasets/ds_1/data.parquet');
INSERT INTO job (id, owner, kind, method, spec_version, queue, state, spec, listed, attempt, finished_at, release_id,
                 result_bytes)
  SELECT 'job_' || n, :owner, 'anonymization', 'boxes', 1, 'batch', 'succeeded', '{}', true, 1,
         now() - n * interval '1 minute', 'rel_' || n, 1000 FROM generate_series(1, :count) n;
INSERT INTO job_progress (job_id, stage, beat_at) SELECT id, 'done', finished_at FROM job;
INSERT INTO job_result (job_id, bytes, sha256, key)
  SELECT 'job_' || n, 1000, 'x', 'jobs/job_' || n || '/result.json' FROM generate_series(1, :count) n;
INSERT INTO job_input (job_id, role, position, dataset_id)
  SELECT 'job_' || n, 'dataset_id', 0, 'ds_1' FROM generate_series(1, :count) n;
INSERT INTO release (id, owner, job_id, dataset_id, method, rows, columns, flags, statistics)
  SELECT 'rel_' || n, :owner, 'job_' || n, 'ds_1', 'boxes', 10, '[]', '{}', '[]' FROM generate_series(1, :count) n;
INSERT INTO release_file (release_id, format, key, sha256, bytes)
  SELECT 'rel_' || n, f, 'releases/rel_' || n || '/x.' || f, 'x', 1000
  FROM generate_series(1, :count) n, unnest(ARRAY['csv', 'ndjson', 'parquet']) f;
INSERT INTO release_link (release_id, dataset_id, key, bytes)
  SELECT 'rel_' || n, 'ds_1', 'releases/rel_' || n || '/link', 100 FROM generate_series(1, :count) n;
INSERT INTO ledger_file (release_id, owner, key, bytes)
  SELECT 'rel_' || n, :owner, 'ledger/rel_' || n || '/x.json', 100 FROM generate_series(1, :count) n;
INSERT INTO publication_entry (owner, number, release_id, key)
  SELECT :owner, n, 'rel_' || n, 'publications/many/' || n || '/x.json' FROM generate_series(1, :count) n;
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", type=Path, help="another checkout, with an environment of its own")
    parser.add_argument("--one", action="store_true", help="measure this checkout and print it as JSON")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(RELEASES)))
        return
    from benchmarks.recorded import as_table, printed, record

    places = {"here": Path.cwd()} | ({} if given.beside is None else {"beside": given.beside})
    figures = {name: in_checkout(place) for name, place in places.items()}
    rows = [printed("question", *(f"{name}, ms" for name in places))]
    rows += [printed(each, *(f"{figures[name].get(each, 0):.1f}" for name in places)) for each in figures["here"]]
    record("many_releases", COMMAND, {"releases": RELEASES, "runs": RUNS, "table": as_table(rows)})


def in_checkout(place: Path) -> dict[str, float]:
    """Figures of a checkout, by its own interpreter."""
    python = str(place / ".venv" / "bin" / "python")
    environment = os.environ | {"PYTHONPATH": str(place)}
    command = [python, str(Path(__file__).resolve()), "--one"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, check=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measured(count: int) -> dict[str, float]:
    """Milliseconds of each question."""
    sys.path.insert(0, str(Path.cwd()))
    with filled(count) as database:
        return {name: least(database, ask) for name, ask in questions().items()}


@contextmanager
def filled(count: int) -> Iterator[Any]:
    """A database with so many releases of one owner."""
    from app.db.session import Database
    from tests.servers import Databases, new_postgres, short_folder

    with short_folder() as folder, ExitStack() as opened:
        server = new_postgres(folder)
        server.start()
        opened.callback(server.stop)
        database = Database(Databases(server).fresh(), pool_size=2)
        opened.callback(database.close)
        fill(database, count)
        yield database


def fill(database: Any, count: int) -> None:
    """Write the rows."""
    from sqlalchemy import text

    with database.unit_of_work() as unit:
        for statement in filter(str.strip, FILL.split(";")):
            unit.connection.execute(text(statement), {"owner": OWNER, "count": count})
        columns = "SELECT 1 FROM information_schema.columns WHERE table_name = 'release' AND column_name = 'file_bytes'"
        if unit.connection.exec_driver_sql(columns).first():
            unit.connection.exec_driver_sql("UPDATE release SET file_bytes = 3000")
    with database.read() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def questions() -> dict[str, Callable[[Any], object]]:
    """The queries of a round of housekeeping, and those of a submission and an upload before they are accepted."""
    from app.db.repositories import (
        datasets,
        entries,
        erasing,
        expiry,
        parts,
        quotas,
        reaping,
        release_links,
        releases,
        stranded,
    )

    silent = timedelta(seconds=20)
    keys = [f"releases/rel_{n}/x.{kind}" for n in range(1, 251) for kind in ("csv", "no")]
    return {
        "lost jobs": lambda c: reaping.reap(c, silent_for=silent, max_attempts=3),
        "jobs to send again": lambda c: (reaping.count_queued(c), stranded.queued(c)),
        "parts without a whole": parts.end_orphans,
        "uploads that were read": lambda c: datasets.leftovers(c, limit=100),
        "entries to write again": lambda c: entries.stale(c, limit=100),
        "500 stored objects": lambda c: (expiry.referenced(c, keys=keys), expiry.of_deleted(c, keys=keys)),
        "results that were erased": lambda c: erasing.results_left(c, limit=100),
        "files of deleted releases": lambda c: releases.files_of_deleted(c, limit=100),
        "links of deleted releases": lambda c: release_links.due(c, limit=100),
        "quota of a submission": lambda c: (quotas.releases(c, owner=OWNER), quotas.jobs(c, owner=OWNER)),
        "quota of an upload": lambda c: quotas.datasets(c, owner=OWNER),
    }


def least(database: Any, ask: Callable[[Any], object]) -> float:
    """The least of some runs, in milliseconds."""
    taken = []
    for _ in range(RUNS):
        with database.unit_of_work() as unit:
            began = time.perf_counter()
            ask(unit.connection)
            taken.append(1000 * (time.perf_counter() - began))
    return min(taken)


if __name__ == "__main__":
    main()
