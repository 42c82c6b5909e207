"""The production shape: valid, nothing unguarded, every queue served, every command there."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath

import pytest
from typer.main import get_command

from app.cli.main import Queue as CliQueue
from app.cli.main import cli
from app.contracts.jobs import Queue
from app.settings import SECRETS as SETTINGS_SECRETS
from app.settings import Settings, variables_of
from tests.meta import compose
from tests.meta.project import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMMANDS = get_command(cli).commands  # type: ignore[attr-defined]
SERVICES = compose.services()
OURS = sorted(compose.ours())
SECRETS = compose.whole()["secrets"]
NETWORKS = compose.whole()["networks"]
#: What each service may reach: the API alone is reached from outside, and nothing that holds or reads data gets out.
REACHED = {
    "postgres": {"database"},
    "redis": {"broker"},
    "migrate": {"database"},
    "api": {"front", "operations", "database", "broker", "storage"},
    "worker-interactive": {"database", "broker", "storage"},
    "worker-batch": {"database", "broker", "storage"},
    "housekeeping": {"database", "broker", "storage", "authority"},
}


def option(command: list[str], name: str) -> str | None:
    return command[command.index(name) + 1] if name in command else None


def test_the_guide_is_built_of_what_the_image_has(tmp_path: Path) -> None:
    """A page that links to a file that is not copied ends the build of every image."""
    made = DOCKERFILE.partition(" AS wheel")[2].partition("\nFROM ")[0]
    for line in re.findall(r"^COPY (.*)$", made, re.MULTILINE):
        *sources, target = line.split()
        for source in sources:
            there, to = ROOT / source, tmp_path / target
            if there.is_dir():
                shutil.copytree(there, to, ignore=shutil.ignore_patterns("__pycache__", "guide"))
            else:
                to = to / there.name if target.endswith("/") else to
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(there, to)
    (tmp_path / "staged").mkdir()
    script = "from pathlib import Path; from guide import stage; stage(Path('staged'))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "docs")}
    command = [sys.executable, "-P", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-400:]


def test_the_file_is_valid_by_the_compose_specification() -> None:
    checker = str(Path(sys.executable).with_name("check-jsonschema"))
    command = [checker, "--builtin-schema", "vendor.compose-spec", str(compose.COMPOSE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_secret_is_a_file_of_its_own_and_in_no_variable(name: str) -> None:
    service = SERVICES[name]
    assert service["secrets"], name
    assert set(service["secrets"]) <= set(SECRETS)
    for variable, value in service.get("environment", {}).items():
        for word in ("PASSWORD", "SECRET", "_KEY", "DATABASE_URL", "REDIS_URL"):
            if word in variable:
                assert variable.endswith("_FILE"), variable
                assert value.removeprefix(compose.SECRETS_FOLDER) in service["secrets"], variable
    others = {"postgres_password", "redis_password"} - {f"{name}_password"}
    assert not others & set(service["secrets"]), "a password is known to its server, and in an address"


def test_every_secret_is_a_file_of_one_folder_and_every_secret_of_the_settings_can_be_one() -> None:
    assert {each["file"] for each in SECRETS.values()} == {f"./secrets/{name}" for name in SECRETS}
    assert compose.whole({"SECRETS_DIR": "/srv/x"})["secrets"]["redis_url"] == {"file": "/srv/x/redis_url"}
    given = set(SERVICES["api"]["environment"])
    for field in SETTINGS_SECRETS:
        assert {f"{each}_FILE" for each in variables_of(Settings.model_fields[field], field)} & given, field
    assert "/secrets/" in (ROOT / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_reaches_what_it_needs_and_no_more(name: str) -> None:
    assert set(SERVICES[name]["networks"]) == REACHED[name]
    assert ("ports" in SERVICES[name]) == (name == "api"), "only the API is published"
    assert "network_mode" not in SERVICES[name]


def test_workers_and_servers_have_no_way_out() -> None:
    assert set(NETWORKS) == set().union(*REACHED.values())
    inside = {name for name, network in NETWORKS.items() if str((network or {}).get("internal")).lower() == "true"}
    assert inside == {"operations", "database", "broker", "storage"}
    for name in ("postgres", "redis", "migrate", "worker-interactive", "worker-batch"):
        assert set(SERVICES[name]["networks"]) <= inside, name
    opened = compose.whole({"STORAGE_NETWORK_INTERNAL": "false"})["networks"]["storage"]
    assert str(opened["internal"]).lower() == "false", "a bucket elsewhere is reached by a setting"


def test_the_port_of_operations_is_not_published() -> None:
    api = SERVICES["api"]
    port = api["environment"]["SUREBOX_OPERATIONS_LISTEN"].rpartition(":")[2]
    assert port != option(api["command"], "--port")
    assert all(not published.endswith(f":{port}") for published in api["ports"])


def test_images_of_others_can_be_pinned_by_their_digest() -> None:
    pinned = {"POSTGRES_IMAGE": "postgres:18@sha256:" + "0" * 64, "VALKEY_IMAGE": "valkey/valkey:9@sha256:" + "1" * 64}
    services = compose.services(pinned)
    assert {services["postgres"]["image"], services["redis"]["image"]} == set(pinned.values())
    for name in ("postgres", "redis"):
        tag = SERVICES[name]["image"].rpartition(":")[2]
        assert re.match(r"\d", tag), "no moving tag"
    (python,) = re.findall(r"^ARG PYTHON=(python:3\.13-.*)$", DOCKERFILE, re.MULTILINE)
    assert {each["build"]["args"]["PYTHON"] for each in compose.ours().values()} == {python}
    built = compose.ours({"PYTHON_IMAGE": "python:3.13@sha256:" + "2" * 64}).values()
    assert {each["build"]["args"]["PYTHON"] for each in built} == {"python:3.13@sha256:" + "2" * 64}


def images(command: str, settings: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The script of the images' digests; `docker` is the one that is first on the path."""
    given = {"PATH": f"{settings.parent}:{os.environ['PATH']}", "IMAGES_ENV": str(settings)} | environment
    script = str(ROOT / "requirements/images.sh")
    return subprocess.run([script, command], env=given, capture_output=True, text=True, check=False)


def test_one_command_pins_the_images_and_one_says_which_are_not(tmp_path: Path) -> None:
    """With a registry's client that answers by the name of the image; there is none here."""
    settings, docker = tmp_path / ".env", tmp_path / "docker"
    settings.write_text("BATCH_WORKERS=3\nVALKEY_IMAGE=valkey/valkey:9.1-alpine\n")
    named = [
        "POSTGRES_IMAGE: postgres:18",
        "PYTHON_IMAGE: python:3.13-slim-bookworm",
        "VALKEY_IMAGE: valkey/valkey:9.1-alpine",
    ]
    before = images("check", settings)
    assert (before.returncode, before.stderr.splitlines()[:-1]) == (
        1,
        [f"{each} is not pinned by its digest" for each in named],
    )
    docker.write_text("#!/bin/sh\nprintf '\"sha256:%s\"\\n' $(printf '%s' \"$4\" | sha256sum | cut -c1-64)\n")
    docker.chmod(0o755)
    assert images("pin", settings).returncode == 0
    written = settings.read_text().splitlines()
    assert written[0] == "BATCH_WORKERS=3"
    digests = [hashlib.sha256(each.partition(": ")[2].encode()).hexdigest() for each in named]
    assert written[1:] == [
        f"{each.replace(': ', '=')}@sha256:{digest}" for each, digest in zip(named, digests, strict=True)
    ]
    assert images("check", settings).returncode == 0
    assert images("check", settings, POSTGRES_IMAGE="postgres:18").returncode == 1, (
        "the environment wins, as in compose"
    )
    assert images("pin", settings).returncode == 0
    assert settings.read_text().splitlines() == written, "a pinned image is looked up by its tag"
    docker.write_text("#!/bin/sh\necho Name: docker.io/library/postgres:18\n")
    failed = images("pin", settings)
    assert (failed.returncode, failed.stderr.startswith("No digest of postgres:18")) == (1, True)
    assert settings.read_text().splitlines() == written
    assert sorted(path.name for path in tmp_path.iterdir()) == [".env", "docker"]


def test_what_the_images_copy_is_let_into_the_build() -> None:
    """By the last pattern of .dockerignore that a file, or a folder above it, matches."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    sources = [
        source
        for words in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
        for source in words.split()[:-1]
    ]
    assert "openapi/sdk/python" in sources

    def matches(pattern: str, path: PurePosixPath) -> bool:
        above = [path, *path.parents[:-1]]
        return any(
            each.match(pattern.removeprefix("**/"))
            and ("**" in pattern or len(each.parts) == len(PurePosixPath(pattern).parts))
            for each in above
        )

    def let_in(path: PurePosixPath) -> bool:
        state = True
        for pattern in patterns:
            if matches(pattern.removeprefix("!"), path):
                state = pattern.startswith("!")
        return state

    for source in sources:
        assert (ROOT / source).exists(), source
        assert let_in(PurePosixPath(source)), source
    assert not let_in(PurePosixPath("secrets/server_secret"))
    assert not let_in(PurePosixPath("openapi/build.py"))
    assert not let_in(PurePosixPath("app/jobs/__pycache__"))


def test_the_image_has_a_python_that_the_packages_name() -> None:
    (version,) = re.findall(r"^ARG PYTHON=python:([\d.]+)-", DOCKERFILE, re.MULTILINE)
    for project in ("pyproject.toml", "verify/pyproject.toml"):
        named = tomllib.loads((ROOT / project).read_text())["project"]["classifiers"]
        assert f"Programming Language :: Python :: {version}" in named, project
        assert "Programming Language :: Python :: 3.11" in named, project


def test_the_database_has_the_encoding_that_it_needs_whatever_the_image() -> None:
    assert "--encoding=UTF8" in SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"].split()


def test_every_queue_has_a_consumer_in_production() -> None:
    commands = [service["command"] for service in compose.ours().values()]
    assert {option(command, "--queue") for command in commands if command[0] == "worker"} == {
        each.value for each in Queue
    }


def test_every_queue_has_a_consumer_on_one_machine() -> None:
    launcher = (ROOT / "app/embedded/launcher.py").read_text()
    assert set(re.findall(r'"worker",[^)]*"--queue", "(\w+)"', launcher)) == {each.value for each in Queue}


def test_the_command_line_offers_the_queues_there_are() -> None:
    assert {each.value for each in CliQueue} == {each.value for each in Queue}


@pytest.mark.parametrize("name", OURS)
def test_the_command_of_a_service_is_one_of_ours(name: str) -> None:
    first, *arguments = compose.ours()[name]["command"]
    known = {option for parameter in COMMANDS[first].params for option in parameter.opts}
    assert {argument for argument in arguments if argument.startswith("--")} <= known


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert 0 < service["pids_limit"] <= 512
    assert service["tmpfs"], "a read-only file system has its scratch in memory"
    if name not in OURS:
        assert not service["user"].startswith(("0", "root")), "our own images name their user"


@pytest.mark.parametrize("name", OURS)
def test_a_service_of_ours_is_built_here_and_listens_on_loopback(name: str) -> None:
    service = SERVICES[name]
    assert service["build"]["target"] == service["image"].removeprefix("surebox-")
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:"), "TLS ends before us"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_has_limits(name: str) -> None:
    limits = SERVICES[name]["deploy"]["resources"]["limits"]
    assert {"cpus", "memory"} <= set(limits)


@pytest.mark.parametrize("name", OURS)
def test_a_service_knows_its_settings(name: str) -> None:
    given = SERVICES[name]["environment"]
    fields = Settings.model_fields.items()
    known = {
        variable for field, info in fields for variable in [*variables_of(info, field), f"SUREBOX_{field.upper()}"]
    }
    for variable in given:
        assert variable in known | {"AWS_REGION"} or variable.removesuffix("_FILE") in known, variable
    assert {"DATABASE_URL_FILE", "REDIS_URL_FILE", "STORAGE_URL", "SUREBOX_SERVER_SECRET_FILE"} <= set(given)


def test_no_password_stands_on_a_command_line() -> None:
    for name, service in SERVICES.items():
        command = service.get("command", [])
        line = command[-1] if command[:1] == ["sh"] else " ".join(command)
        program = line.rpartition("exec ")[2]
        assert not any(word in program.lower() for word in ("password", "secret", "$")), name


def test_the_start_is_gated_by_health() -> None:
    for name in OURS:
        waits = {other: each["condition"] for other, each in SERVICES[name]["depends_on"].items()}
        assert waits["postgres"] == "service_healthy"
        if name != "migrate":
            assert waits == {
                "migrate": "service_completed_successfully",
                "postgres": "service_healthy",
                "redis": "service_healthy",
            }
    for name in ("postgres", "redis"):
        assert SERVICES[name]["healthcheck"]["test"]


def test_the_bytes_are_shared_by_all_who_use_them() -> None:
    for name in OURS:
        if name != "migrate":
            assert "storage:/var/lib/surebox" in compose.ours()[name]["volumes"]


def test_the_images_run_without_root_and_have_health_checks() -> None:
    assert set(re.findall(r"^FROM runtime AS (\w+)$", DOCKERFILE, re.MULTILINE)) == {"worker", "api", "standalone"}
    runtime = DOCKERFILE.split("AS runtime")[1]
    assert "USER 10001:10001" in runtime.split("\nFROM ")[0]
    assert runtime.count("HEALTHCHECK") == 3
    assert set(re.findall(r'CMD \["surebox", "(\w+)"', runtime)) <= set(COMMANDS)
    for arguments in re.findall(r"pip install (.*)", DOCKERFILE):
        assert "--require-hashes" in arguments or "--no-deps --no-index" in arguments


def test_the_image_of_everything_takes_its_servers_from_a_lock_by_their_hashes() -> None:
    stage = DOCKERFILE.split("FROM worker-packages AS standalone-packages")[1].split("\nFROM ")[0]
    assert "--require-hashes --requirement standalone.txt" in stage
    assert "pip check" in stage  # the build fails where a package lacks what it needs
