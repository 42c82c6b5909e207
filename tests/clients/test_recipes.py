"""The pages of the command line and of recipes: their lines do what they say."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import yaml

from surebox_client import Surebox
from tests.clients.commands import bare
from tests.clients.guides import blocks_of, lines_after, run_blocks
from tests.meta.project import ROOT
from tests.service import Service

ADULT = ROOT.parent / "shared" / "data" / "adult" / "adult.data.gz"
RECIPES = (ROOT / "docs/how-to/recipes.md").read_text()


def block(text: str, info: str) -> str:
    """The block of a page that is fenced with these words."""
    (text_in,) = re.findall(rf"^```{info}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(text_in)


def environment(service: Service, folder: Path, owner: str) -> dict[str, str]:
    """What a program sees that works for an owner of its own."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    key = service.new_key(owner)
    return bare({"PATH": programs, "HOME": str(folder), "SUREBOX_URL": service.address, "SUREBOX_API_KEY": key})


def test_the_page_of_the_command_line_runs_as_it_stands(service: Service, tmp_path: Path) -> None:
    printed = run_blocks(blocks_of("docs/tutorials/command-line.md"), service, tmp_path)
    assert printed[1].splitlines()[0] == "people.parquet"
    assert pl.read_parquet(tmp_path / "people.parquet").height == 2000
    assert json.loads((tmp_path / "audit.json").read_text())["passed"] in (True, False)


def test_the_release_of_the_page_about_boxes_looks_as_it_is_shown(service: Service, tmp_path: Path) -> None:
    (printed,) = run_blocks(blocks_of("docs/explanation/boxes.md"), service, tmp_path)
    ((head,),) = lines_after("docs/explanation/boxes.md").values()
    assert head in printed.splitlines()
    rows = pl.read_csv(tmp_path / "staff-boxes.csv")
    sets = rows.with_columns(pl.col("job_set").str.json_decode(pl.List(pl.String)).list.sort().list.join("+"))
    assert sets.filter(pl.col("job") == "office")["job_set"].unique().to_list() == ["clerk+lawyer"]
    assert rows.group_by("box").len()["len"].min() >= 10


def test_three_lines_a_night_publish_once_a_night_and_continue_the_night_before(
    service: Service, tmp_path: Path
) -> None:
    run_blocks(blocks_of("docs/how-to/recipes.md"), service, tmp_path)
    export = tmp_path / "export"
    export.write_text(
        "#!/usr/bin/env python3\nimport os, random\ndraw = random.Random(8)\nprint('age,hours')\n"
        "for _ in range(600 * int(os.environ['NIGHT'])): print(draw.randint(18, 80), draw.randint(5, 60), sep=',')\n"
    )
    export.chmod(0o700)
    mine = environment(service, tmp_path, "nightly")
    releases = []
    for night in ("1", "1", "2"):
        night_of = mine | {"NIGHT": night}
        subprocess.run(["sh", "-e", "nightly.sh"], cwd=tmp_path, env=night_of, check=True, capture_output=True)
        listed = subprocess.run(["surebox", "releases"], env=mine, capture_output=True, text=True, check=True)
        releases.append([json.loads(line) for line in listed.stdout.splitlines()])
    assert [len(each) for each in releases] == [1, 1, 2]
    last, first = releases[-1]
    assert (first["rows"], first["tags"]["table"]) == (600, "people")
    with Surebox(service.address, key=mine["SUREBOX_API_KEY"]) as client:
        assert client.release(last["id"]).data["previous_release_id"] == first["id"]
        assert not list(client.datasets()), "the rows are deleted, and the next night continues all the same"
    assert pl.read_parquet(tmp_path / "people.parquet").height == last["rows"] > 600


def test_the_pipeline_of_gitlab_is_valid_and_its_lines_run(service: Service, tmp_path: Path) -> None:
    pipeline = tmp_path / ".gitlab-ci.yml"
    pipeline.write_text(block(RECIPES, "yaml gitlab"))
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci"]
    checked = subprocess.run(
        [*checker, "--data-transform", "gitlab-ci", str(pipeline)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    for name in ("table.csv", "people.csv"):
        rows = [f"{20 + number % 7},{30 + number % 5}" for number in range(700)]
        (tmp_path / name).write_text("\n".join(["age,hours", *rows]) + "\n")
    mine = environment(service, tmp_path, "gitlab") | {"CI_PIPELINE_ID": "1"}
    for job in yaml.safe_load(pipeline.read_text()).values():
        assert job["script"][0] == "pip install wheels/surebox_client-*.whl"
        lines = "\n".join(job["script"][1:])
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", lines], cwd=tmp_path, env=mine, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        assert all((tmp_path / path).exists() for path in job["artifacts"]["paths"])


@pytest.fixture
def recipe(
    service: Service, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Callable[[str], dict[str, Any]]:
    """What a block of the recipes defines, after that of `released`."""
    monkeypatch.setenv("SUREBOX_URL", service.address)
    monkeypatch.setenv("SUREBOX_API_KEY", service.new_key(request.node.name))

    def defined(scheduler: str) -> dict[str, Any]:
        names: dict[str, Any] = {}
        exec(block(RECIPES, "python release") + block(RECIPES, f"python {scheduler}"), names)
        return names

    return defined


def people(seed: int) -> pl.DataFrame:
    ages, hours = ([least + seed * n % many for n in range(300)] for least, many in ((20, 53), (5, 41)))
    return pl.DataFrame({"age": ages, "hours": hours})


def test_a_task_of_airflow_publishes_once_a_run(recipe: Callable[[str], dict[str, Any]], tmp_path: Path) -> None:
    people(3).write_parquet(tmp_path / "people.parquet")
    anonymize = recipe("airflow")["anonymize"]
    paths = [str(tmp_path / "people.parquet"), str(tmp_path / "release.parquet")]
    first, again = (pl.read_parquet(anonymize(*paths, "scheduled-1")) for _ in range(2))
    assert first.height == 300
    assert first.equals(again)


def test_an_asset_of_dagster_is_the_release(recipe: Callable[[str], dict[str, Any]]) -> None:
    rows = recipe("dagster")["people_release"](SimpleNamespace(run_id="run-7"), people(5))
    assert {"age_lo", "age_hi", "hours_lo", "hours_hi"} <= set(rows.columns)


def test_a_model_of_dbt_is_the_release_and_fails_with_a_draft(recipe: Callable[[str], dict[str, Any]]) -> None:
    draw = np.random.default_rng(5)
    table = pl.DataFrame({"age": draw.normal(45, 14, 300).round(), "hours": draw.gamma(9, 4, 300).round(1)})
    tables = iter([table, table.head(297)])
    context = SimpleNamespace(ref=lambda _name: next(tables).to_pandas(), config={"invocation": "invocation-1"})
    model = recipe("dbt")["model"]
    assert len(model(context, None)) == 300
    context.config["invocation"] = "invocation-2"  # the same people but three
    with pytest.raises(RuntimeError, match="is a draft: Together with rel_"):
        model(context, None)


def test_counts_of_duckdb_are_released_as_the_persons_that_they_count(service: Service, tmp_path: Path) -> None:
    """The queries of the other warehouses give the same counts."""
    draw = np.random.default_rng(7)
    values = {
        "age": draw.integers(20, 60, 900),
        "sex": draw.choice(["f", "m"], 900),
        "job": draw.choice(["x", "y"], 900),
    }
    table = pl.DataFrame(values)
    table.write_csv(tmp_path / "people.csv")
    mine = environment(service, tmp_path, "a warehouse")
    lines = block(RECIPES, "sh duckdb")
    subprocess.run(["sh", "-euc", lines], cwd=tmp_path, env=mine, check=True, capture_output=True)
    counts = pl.read_parquet(tmp_path / "counts.parquet")
    assert sorted(counts.rows()) == sorted(table.group_by("age", "sex", "job").len().rows())
    boxes = pl.read_parquet(tmp_path / "release.parquet").group_by("box").len()["len"]
    assert boxes.sum() == 900
    assert boxes.to_numpy().min() >= 5
    (of_bigquery,) = re.findall(r"'(SELECT [^']*)'", block(RECIPES, "sh bigquery"))
    for query, name in ((of_bigquery, "clinic.people"), (block(RECIPES, "sql dbt"), "{{ ref('people') }}")):
        rows = duckdb.sql(query.replace(name, f"'{tmp_path / 'people.csv'}'")).fetchall()
        assert sorted(rows) == sorted(counts.rows())


def test_the_notebook_runs_whole(service: Service, tmp_path: Path) -> None:
    cells = json.loads((ROOT / "docs/how-to/recipes.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    code += '\nassert low <= people["hours"].mean() <= high'
    (tmp_path / ".surebox").symlink_to(service.folder)
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=bare({}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not ADULT.exists(), reason="the guide's file is not in ../shared/data")
def test_adult_in_one_line_is_the_release_of_the_guide(service: Service, tmp_path: Path) -> None:
    (tmp_path / "adult.data").write_bytes(gzip.decompress(ADULT.read_bytes()))
    mine = environment(service, tmp_path, "adult-in-one-line")
    line = block((ROOT / "docs/tutorials/command-line.md").read_text(), "sh adult").strip()
    assert "\n" not in line
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=mine, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "adult.parquet\n"), done.stderr
    guide = (ROOT / "docs/tutorials/publish-a-table.md").read_text()
    (request,) = re.findall(r"^cat > request.json <<END\n(.*?)^END$", guide, re.MULTILINE | re.DOTALL)
    with Surebox(service.address, key=mine["SUREBOX_API_KEY"]) as client:
        (release,) = client.releases()
        made: Any = client.job(release.data["job_id"]).data["spec"]
    for name, value in json.loads(request).items():
        if name == "statistics":
            assert [{field: one[field] for field in ("kind", "of")} for one in made[name]] == value
        elif name == "nominal":
            assert made[name]["occupation"]["missing_is_value"] is value["occupation"]["missing_is_value"]
        elif name != "dataset_id":
            assert made[name] == value, name
    verify = ["surebox", "verify", "adult.parquet", "--keys", "adult.parquet.jwks.json"]
    verified = subprocess.run(verify, cwd=tmp_path, env=mine, capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr
