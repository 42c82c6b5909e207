"""After trials: a family shows what it holds and why, and once it is erased nothing of it comes back."""

import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.asking import ended, upload
from tests.service import Service, bare_environment

OWNER = "trials"
SPEC: dict[str, Any] = {"method": "boxes", "publish": "auto", "k": 5, "quasi_identifiers": ["age", "wage"]}


def test_a_family_is_shown_erased_and_not_replayed(service: Service) -> None:
    draw = np.random.default_rng(168)
    table = pl.DataFrame({"age": draw.integers(18, 90, 300), "wage": draw.lognormal(3, 1, 300).round(1)}).write_csv()

    def command(*words: str) -> str:
        line = [
            sys.executable,
            "-m",
            "app.cli",
            "families",
            *words,
            *(["--owner", OWNER] if words == ("list",) else []),
            "--data-dir",
            str(service.folder),
        ]
        return subprocess.run(line, capture_output=True, text=True, check=True, env=bare_environment()).stdout

    with service.client(owner=OWNER) as client:
        ids = [upload(client, table, name=name)["id"] for name in ("a trial", "the nightly one")]
        once = {"Idempotency-Key": "nightly"}

        def spec_for(columns: list[str]) -> dict[str, Any]:
            body = SPEC | {"dataset_id": ids[1], "quasi_identifiers": columns}
            return ended(client, client.post("/v1/anonymizations", json=body, headers=once).json())

        ended(client, client.post("/v1/anonymizations", json=SPEC | {"dataset_id": ids[0], "k": 7}).json())
        first = spec_for(["age", "wage"])
        (finding,) = first["findings"]
        family_id = client.get(f"/v1/datasets/{ids[1]}").json()["family_id"]
        assert finding["remedies"]
        assert not any("erase" in one for one in finding["remedies"]), "what starts clean is in the guide alone"
        assert spec_for(["age", "wage"])["id"] == first["id"], "the same key gives the same job"
        (listed,) = client.get("/v1/families").json()["items"]
        assert [(one["name"], one["reason"][:14]) for one in listed["datasets"]] == [
            ("a trial", "it was the fir"), ("the nightly one", "its file has t"),
        ]  # fmt: skip
        assert command("list").split("\t")[:3] == [family_id, "2", "1"]
        assert "the nightly one\t" in command("show", family_id)
        published = [one["release_id"] for one in client.get("/v1/families").json()["items"][0]["published"]]
        refused = client.delete(f"/v1/families/{family_id}")
        assert refused.status_code == 409
        assert all(release_id in refused.json()["detail"] for release_id in published)
        with pytest.raises(subprocess.CalledProcessError) as unanswered:
            command("erase", family_id, "--withdraw")
        assert "Erase it?" in unanswered.value.stderr
        for answered in ([], ["--yes"]):
            with pytest.raises(subprocess.CalledProcessError) as standing:
                command("erase", family_id, *answered)
            assert published[0] in standing.value.stderr
            assert "--withdraw" in standing.value.stderr
            assert "Erase it?" not in standing.value.stderr, "what cannot be done is not asked about"
        command("erase", family_id, "--withdraw", "--yes")
        assert [client.get(f"/v1/releases/{one}").json()["state"] for one in published] == ["withdrawn"]
        assert client.get(f"/v1/families/{family_id}").status_code == 404
        again = spec_for(["age", "wage"])
        assert again["id"] != first["id"]
        assert (again["findings"], client.get(f"/v1/releases/{again['release_id']}").json()["state"]) == (
            [],
            "published",
        )
