"""No cell of anybody's data reaches a log, whatever goes wrong: every log of a whole service is searched."""

import json
import secrets
from pathlib import Path

import httpx
import pytest

from tests.methods.asking import anonymization, succeed, upload
from tests.service import Service
from tests.stored import stored


@pytest.fixture
def planted() -> tuple[str, str]:
    """A text and a number that stand nowhere else."""
    return f"planted{secrets.token_hex(8)}", f"{secrets.randbelow(10**9) + 10**9}.{secrets.randbelow(10**6) + 10**6}"


def test_planted_cells_are_in_no_log_of_any_process(
    service: Service, client: httpx.Client, planted: tuple[str, str]
) -> None:
    text, number = planted
    good = "x,y,t\n" + "".join(f"{i},{i * i},{text if i == 3 else 'a'}\n" for i in range(20)) + f"{number},2,b\n"
    dataset = upload(client, good)
    spec = anonymization("boxes", dataset["id"], ["x", "y"], k=3, keep=["t"], partition="fast")
    job = succeed(client, spec)
    undefined = {"quasi_identifiers": ["x"], "k": 21, "statistics": [{"kind": "correlation", "of": ["x", "y"]}]}
    client.post("/v1/anonymizations", json=spec | undefined)
    for bad, query in (
        (good, {"type": "t:integer"}),
        (good + f"{text},1\n", {}),
        (good + f'"{text},1,2\n', {}),
        (f"{text},{text}\n1,2\n", {}),
        (good, {"type": f"{text}:integer"}),
    ):
        answer = client.post("/v1/datasets", content=bad.encode(), params=query, headers={"Content-Type": "text/csv"})
        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, answer.text
        if f"{text}:integer" not in query.values():  # what was asked may be told, cells may not
            assert text not in answer.text
    logs = _logs(service.folder)
    written = {path.name.split(".")[0] for path in logs}  # those of yesterday have a date in their names
    assert written >= {"api", "worker-batch", "worker-interactive", "housekeeping", "postgres", "valkey"}
    ended = [json.loads(line) for text_of in logs.values() for line in text_of.splitlines() if '"job.ended"' in line]
    outcomes = {one["job_id"]: one["outcome"] for one in ended}
    assert outcomes[job["id"]] == "succeeded", "the logs that are searched are the real ones"
    problems = {one.get("problem") for one in ended if one["outcome"] == "failed"}
    assert {"/problems/invalid", "/problems/unreadable"} <= problems, "those of the uploads above; jobs of other tests"
    assert not any("Task %(name)s" in text_of for text_of in logs.values())
    for path, content in logs.items():
        assert text not in content, path
        assert number not in content, path
        assert number.split(".")[0] not in content, path


def _logs(folder: Path) -> dict[Path, str]:
    return {path: path.read_text(errors="replace") for path in stored(folder, ".log")}
