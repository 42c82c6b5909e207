"""Writes app/api/examples.json, the answers that the OpenAPI document shows: `python docs/example_answers.py`.

With PYTHONPATH=. it starts the service on a folder of its own, sends it the requests of a first client and the example
of each method, and keeps the answers once all are there, lists cut short. `tests/meta/test_examples.py` compares them
with their schemas.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from rich.console import Console

from app.api.schemas.examples import ANONYMIZATIONS, AUDITS
from app.contracts.examples import DATASET, GROUP_JOB, RELEASE
from app.demo.run import compiling, running
from tests.methods.bases import microfile

TARGET = Path(__file__).parents[1] / "app" / "api" / "examples.json"
#: Entries of lists of objects, and of other lists, that are shown; lines of files, and characters of pages.
OBJECTS, OTHERS, LINES, PAGE = 2, 12, 8, 1800
#: A key, which no answer shows, though its service is gone.
KEY = re.compile(r"sb_[\w-]{43}")


def shortened(value: Any) -> Any:
    """A value whose lists have few entries."""
    if isinstance(value, dict):
        return {name: shortened(part) for name, part in value.items()}
    if isinstance(value, list):
        nested = any(isinstance(part, (dict, list)) for part in value)
        return [shortened(part) for part in value[: OBJECTS if nested else OTHERS]]
    return value


def begun(text: str, media: str) -> str:
    """The first lines of a file, or the content of a page as far as its first section."""
    if media == "text/html":
        if "</section>" not in text:
            return text
        content = re.sub(r"<style>.*?</style>", "<style>…</style>", text, flags=re.DOTALL)
        return content.split("</section>")[0] + "</section>\n…\n"
    return "\n".join(text.split("\n")[:LINES]) + "\n"


def people() -> str:
    """A made-up table of 400 people."""
    rng = np.random.default_rng(1)
    ages, hours = rng.integers(18, 80, 400), rng.integers(5, 60, 400)
    incomes = 900 + 30 * ages + rng.exponential(1000, 400)
    regions = rng.choice(["north", "south", "west"], 400)
    rows = zip(ages, hours, incomes, regions, strict=True)
    lines = ["age,hours,income,region", *(f"{age},{hour},{income:.2f},{region}" for age, hour, income, region in rows)]
    return "\n".join(lines) + "\n"


class Recorder:
    """Sends requests and keeps the answers by operation, status and media type; several by what they are of."""

    def __init__(self, address: str, key: str) -> None:
        self.http = httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=300, trust_env=False
        )
        document = self.http.get("/openapi.json").json()
        self.operations = {(method, path): one["operationId"] for path, methods in document["paths"].items()
                           for method, one in methods.items()}  # fmt: skip
        self.answers: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}

    def __call__(self, method: str, path: str, template: str, *, of: str = "", **sent: Any) -> Any:
        """One request; the body of its answer. The first answer of each name (`of`) is kept."""
        answer = self.http.request(method, path, **sent)
        if answer.status_code >= 400:
            raise RuntimeError(f"{method} {path}: {answer.text}")
        media = answer.headers.get("content-type", "").split(";")[0]
        if not media.startswith("text/") and "json" not in media:
            return answer.content
        text = KEY.sub("sb_…", answer.text)
        body = json.loads(text) if media.endswith("json") and "ndjson" not in media else text
        short = begun(body, media) if isinstance(body, str) else shortened(body)
        kept = self.answers.setdefault(self.operations[method.lower(), template], {})
        kept.setdefault(str(answer.status_code), {}).setdefault(media, {}).setdefault(of, short)
        return body

    def ended(self, job: Any) -> Any:
        """A job once it has succeeded; not kept."""
        while job["state"] in ("queued", "running"):
            job = self.http.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"}).json()
        if job["state"] != "succeeded":
            raise RuntimeError(f"{job['method']}: {job['error']}")
        return job


def tell_methods(ask: Recorder) -> None:
    """The first example of each method, as the document has it: the job at once, ended, and its result."""
    upload = {"content": microfile(2, people=60, bases={4: 40, 11: 34, 23: 45}).with_row_index("row").write_csv(),
              "headers": {"Content-Type": "text/csv"}}  # fmt: skip
    dataset = ask("POST", "/v1/datasets?name=commuters", "/v1/datasets", **upload)["id"]
    base = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "income"], "k": 5, "keep": ["job"],
            "publish": "auto"}  # fmt: skip
    release = ask.ended(ask.http.post("/v1/anonymizations", json=base).json())["release_id"]
    first = {one["value"]["method"]: one["value"] for one in reversed([*ANONYMIZATIONS.values(), *AUDITS.values()])}
    model = ""
    for method in sorted(first, key=lambda name: name != "group"):
        ids = {DATASET: dataset, RELEASE: release, GROUP_JOB: model}
        body = json.dumps(first[method])
        for placeholder, made in ids.items():
            body = body.replace(placeholder, made)
        kind = "anonymizations" if any(one["value"] == first[method] for one in ANONYMIZATIONS.values()) else "audits"
        sent = {"content": body, "of": method}
        at_once = {"Content-Type": "application/json", "Prefer": "respond-async"}
        job = ask.ended(ask("POST", f"/v1/{kind}", f"/v1/{kind}", headers=at_once, **sent))
        model = model or job["id"]
        ask("GET", f"/v1/jobs/{job['id']}", "/v1/jobs/{job_id}", of=method)
        ask("GET", f"/v1/jobs/{job['id']}/result", "/v1/jobs/{job_id}/result", of=method)


def tell_of_a_release(ask: Recorder) -> str:
    """From an upload to everything that can be read of its release; the dataset's id."""
    wait, later = {"Prefer": "wait=30"}, {"Prefer": "respond-async"}
    table = {"content": people(), "headers": {"Content-Type": "text/csv"}}
    dataset = ask("POST", "/v1/datasets?name=people", "/v1/datasets", **table)["id"]
    ask("GET", "/v1/datasets", "/v1/datasets")
    ask("GET", f"/v1/datasets/{dataset}", "/v1/datasets/{dataset_id}")
    ask("PATCH", f"/v1/datasets/{dataset}", "/v1/datasets/{dataset_id}", json={"tags": {"year": "2026"}})
    spec = {
        "method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "hours", "income"], "k": 5,
        "keep": ["region"], "statistics": [{"kind": "mean", "of": ["income"]}], "publish": "draft",
    }  # fmt: skip
    other = ask.ended(ask.http.post("/v1/anonymizations", json=spec | {"k": 7}).json())
    job = ask("POST", "/v1/anonymizations", "/v1/anonymizations", json=spec, headers=wait)
    path, release = f"/v1/jobs/{ask.ended(job)['id']}", f"/v1/releases/{ask.ended(job)['release_id']}"
    ask("GET", "/v1/jobs", "/v1/jobs")
    ask("GET", f"{path}/provenance", "/v1/jobs/{job_id}/provenance")
    ask("GET", f"{path}/events", "/v1/jobs/{job_id}/events")
    ask("POST", f"{path}/cancel", "/v1/jobs/{job_id}/cancel")
    ask("GET", f"{path}/report", "/v1/jobs/{job_id}/report", headers=later)
    ask("GET", f"{path}/report", "/v1/jobs/{job_id}/report", headers=wait)
    audit = {"method": "table", "dataset_id": dataset, "quasi_identifiers": ["age", "hours"], "require": {"k": 2}}
    ask.ended(ask("POST", "/v1/audits", "/v1/audits", json=audit, headers=wait))
    under = "/v1/releases/{release_id}"
    accepted = {"json": {"accept_findings": ["publication", "composition"]}}
    ask("POST", f"{release}/publish", f"{under}/publish", **accepted)
    review = ask("POST", f"/v1/releases/{other['release_id']}/publish", f"{under}/publish", **accepted, headers=later)
    ask.ended(review)
    ask("GET", release, under)
    ask("GET", "/v1/releases", "/v1/releases")
    ask("PATCH", release, under, json={"name": "People by age, hours and income"})
    for part in ("statistics", "provenance", "certificate"):
        ask("GET", f"{release}/{part}", f"{under}/{part}")
    for part in ("report", "bundle.zip"):
        ask("GET", f"{release}/{part}", f"{under}/{part}", headers=later)
    ask("GET", f"{release}/report", f"{under}/report", headers=wait)
    for file in ("csv", "ndjson"):
        ask("GET", f"{release}/data?format={file}", f"{under}/data")
        ask("GET", f"{release}/data?format={file}", f"{under}/data", headers={"Range": "bytes=0-399"})
    count = {"queries": [{"age": [30, 39]}, {"region": {"values": ["north"]}}]}
    more = {"statistics": [{"kind": "quantile", "of": ["income"], "p": 0.5}]}
    points = {"target": "region", "points": [{"age": 40, "hours": 35, "income": 2500.0}]}
    for query, body in {"count": count, "statistics": more, "classify": points}.items():
        ask.ended(ask("POST", f"{release}/{query}", f"{under}/{query}", json=body, headers=later))
        ask("POST", f"{release}/{query}", f"{under}/{query}", json=body, headers=wait)
    ask("POST", f"{release}/withdraw", f"{under}/withdraw", json={"reason": "replaced by a corrected table"})
    return str(dataset)


def tell_of_the_service(ask: Recorder, folder: Path) -> None:
    """Families, owners and the service itself."""
    family = ask("GET", "/v1/families", "/v1/families")["items"][0]["id"]
    ask("GET", f"/v1/families/{family}", "/v1/families/{family_id}")
    for one in ("/v1/owner", "/v1/usage", "/v1/log", "/v1/revocations", "/.well-known/jwks.json", "/readyz", "/healthz",
                "/metrics"):  # fmt: skip
        ask("GET", one, one)
    owner = ask("PATCH", "/v1/owner", "/v1/owner", json={"jobs_may_publish": False})["owner"]
    for accepted in ("application/json", "text/html"):
        ask("GET", "/problems/infeasible", "/problems/{code}", headers={"Accept": accepted})
    command = [sys.executable, "-m", "app.cli", "keys", "create", "--owner", owner, "--name", "uploader"]
    command += ["--scope", "datasets:write", "--data-dir", str(folder)]
    command += ["--expires-days", "30", "--renewable-days", "365"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (key,) = re.findall(r"sb_\S+", printed)
    headers = {"Content-Type": "text/csv", "Authorization": f"Bearer {key}"}
    ask.http.post("/v1/datasets?name=delivered", content=people().replace("north", "east"), headers=headers)
    ask("POST", "/v1/owner/key/renew", "/v1/owner/key/renew", headers={"Authorization": f"Bearer {key}"})
    waiting = [one["id"] for one in ask.http.get("/v1/families").json()["items"] if not one["confirmed"]]
    ask("POST", f"/v1/families/{waiting[0]}/confirm", "/v1/families/{family_id}/confirm")


def tell_of_waiting(ask: Recorder, dataset: str) -> None:
    """What answers who does not wait: an upload that is still read, and a job that is cancelled while it runs."""
    headers = {"Content-Type": "text/csv", "Prefer": "respond-async"}
    ask("POST", "/v1/datasets?name=people-later", "/v1/datasets", content=people(), headers=headers)
    spec = {"method": "uncertain", "dataset_id": dataset, "quasi_identifiers": ["age", "income"], "k": 5}
    later = {"Prefer": "respond-async"}
    jobs = [ask.http.post("/v1/anonymizations", json=spec, headers=later).json() for _ in range(3)]
    for job in reversed(jobs):
        ask("POST", f"/v1/jobs/{job['id']}/cancel", "/v1/jobs/{job_id}/cancel")


def tell(ask: Recorder, folder: Path) -> None:
    """All stories, one after the other."""
    dataset = tell_of_a_release(ask)
    tell_methods(ask)
    tell_of_waiting(ask, dataset)
    tell_of_the_service(ask, folder)


def record(ask: Recorder, story: Callable[[Recorder], None], target: Path) -> None:
    """Write the answers of a story once it has come to its end; one that breaks off leaves the file as it is."""
    story(ask)
    unfinished = target.with_name(target.name + ".new")
    unfinished.write_text(json.dumps(ask.answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(target)


def main() -> None:
    """Tell the stories, write the answers; those that no story comes to stay as they were."""
    kept = json.loads(TARGET.read_text(encoding="utf-8"))
    console = Console()
    with (
        tempfile.TemporaryDirectory() as folder,
        compiling() as compilation,
        running(Path(folder), console, compilation, jobs=1) as (address, key),
    ):
        compilation.wait(console)
        record(Recorder(address, key), lambda ask: tell(ask, Path(folder)), TARGET)
    answers = {**kept, **json.loads(TARGET.read_text(encoding="utf-8"))}
    TARGET.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
