"""The production shape: valid, nothing unguarded, every queue served, every command there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from app.cli import Queue as CliQueue
from app.cli import cli
from app.contracts.jobs import Queue
from app.settings import Settings
from tests.meta import compose
from tests.meta.project import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMMANDS = get_command(cli).commands  # type: ignore[attr-defined]
OURS = sorted(compose.ours(compose.SECRETS))


def option(command: list[str], name: str) -> str | None:
    return command[command.index(name) + 1] if name in command else None


def test_the_file_is_valid_by_the_compose_specification() -> None:
    checker = str(Path(sys.executable).with_name("check-jsonschema"))
    command = [checker, "--builtin-schema", "vendor.compose-spec", str(compose.COMPOSE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(compose.SECRETS))
def test_there_is_no_default_password(name: str) -> None:
    others = {key: value for key, value in compose.SECRETS.items() if key != name}
    with pytest.raises(compose.UnsetError, match=name):
        compose.services(others)


def test_every_queue_has_a_consumer_in_production() -> None:
    commands = [service["command"] for service in compose.ours(compose.SECRETS).values()]
    assert {option(command, "--queue") for command in commands if command[0] == "worker"} == {
        each.value for each in Queue
    }


def test_every_queue_has_a_consumer_on_one_machine() -> None:
    launcher = (ROOT / "app/embedded/launcher.py").read_text()
    assert set(re.findall(r'"worker", "--queue", "(\w+)"', launcher)) == {each.value for each in Queue}


def test_the_command_line_offers_the_queues_there_are() -> None:
    assert {each.value for each in CliQueue} == {each.value for each in Queue}


@pytest.mark.parametrize("name", OURS)
def test_the_command_of_a_service_is_one_of_ours(name: str) -> None:
    first, *arguments = compose.ours(compose.SECRETS)[name]["command"]
    known = {option for parameter in COMMANDS[first].params for option in parameter.opts}
    assert {argument for argument in arguments if argument.startswith("--")} <= known


@pytest.mark.parametrize("name", OURS)
def test_a_service_of_ours_is_confined(name: str) -> None:
    service = compose.ours(compose.SECRETS)[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["build"]["target"] == service["image"].removeprefix("surebox-")
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:"), "TLS ends before us"


@pytest.mark.parametrize("name", sorted(compose.services(compose.SECRETS)))
def test_a_service_has_limits(name: str) -> None:
    limits = compose.services(compose.SECRETS)[name]["deploy"]["resources"]["limits"]
    assert {"cpus", "memory"} <= set(limits)


@pytest.mark.parametrize("name", OURS)
def test_a_service_knows_its_settings(name: str) -> None:
    given = compose.ours(compose.SECRETS)[name]["environment"]
    prefixed = {f"SUREBOX_{field.upper()}" for field in Settings.model_fields}
    allowed = {"DATABASE_URL", "REDIS_URL", "STORAGE_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"}
    assert set(given) <= prefixed | allowed
    assert {"DATABASE_URL", "REDIS_URL", "STORAGE_URL", "SUREBOX_SERVER_SECRET"} <= set(given)


def test_no_password_stands_on_a_command_line() -> None:
    for name, service in compose.services(compose.SECRETS).items():
        command = service.get("command", [])
        line = command[-1] if command[:1] == ["sh"] else " ".join(command)
        program = line.rpartition("exec ")[2]
        assert not any(word in program for word in (*compose.SECRETS, *compose.SECRETS.values())), name


def test_the_start_is_gated_by_health() -> None:
    all_services = compose.services(compose.SECRETS)
    for name in OURS:
        waits = {other: each["condition"] for other, each in all_services[name]["depends_on"].items()}
        assert waits["postgres"] == "service_healthy"
        if name != "migrate":
            assert waits == {
                "migrate": "service_completed_successfully",
                "postgres": "service_healthy",
                "redis": "service_healthy",
            }
    for name in ("postgres", "redis"):
        assert all_services[name]["healthcheck"]["test"]


def test_the_bytes_are_shared_by_all_who_use_them() -> None:
    for name in OURS:
        if name != "migrate":
            assert "storage:/var/lib/surebox" in compose.ours(compose.SECRETS)[name]["volumes"]


def test_the_images_run_without_root_and_have_health_checks() -> None:
    assert set(re.findall(r"^FROM runtime AS (\w+)$", DOCKERFILE, re.MULTILINE)) == {"worker", "api"}
    runtime = DOCKERFILE.split("AS runtime")[1]
    assert "USER 10001:10001" in runtime.split("\nFROM ")[0]
    assert runtime.count("HEALTHCHECK") == 2
    assert set(re.findall(r'CMD \["surebox", "(\w+)"', runtime)) <= set(COMMANDS)
    for asked in re.findall(r"pip install (.*)", DOCKERFILE):
        assert "--require-hashes" in asked or "--no-deps --no-index" in asked
