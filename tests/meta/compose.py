"""docker-compose.yml as data: what the meta-tests look at and the production test runs."""

import re
from typing import Any

import yaml

from tests.meta.project import ROOT

COMPOSE = ROOT / "docker-compose.yml"
#: Where a container finds its secrets.
SECRETS_FOLDER = "/run/secrets/"


class UnsetError(Exception):
    """A variable that has to be set is not."""


def interpolate(text: str, variables: dict[str, str]) -> str:
    """Fill in `${NAME:-default}`, `${NAME:?message}` and `$$` as compose does."""

    def value(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        given = variables.get(match["name"], "")
        if not given and match["operator"] == ":?":
            raise UnsetError(match["word"])
        return given or (match["word"] if match["operator"] == ":-" else "")

    pattern = r"(?P<escaped>\$\$)|\$\{(?P<name>\w+)(?:(?P<operator>:[-?])(?P<word>[^}]*))?\}"
    return re.sub(pattern, value, text)


def whole(variables: dict[str, str] | None = None) -> dict[str, Any]:
    """The file, with variables filled in."""
    made: dict[str, Any] = yaml.safe_load(interpolate(COMPOSE.read_text(), variables or {}))
    return made


def services(variables: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The services, with variables filled in."""
    made: dict[str, dict[str, Any]] = whole(variables)["services"]
    return made


def ours(variables: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The services that run our own code."""
    return {name: each for name, each in services(variables).items() if each["image"].startswith("surebox-")}


def environment(service: dict[str, Any], handed_on: dict[str, str]) -> dict[str, str]:
    """The environment of a container; a name without a value is handed on where it is set."""
    written = service.get("environment", {})
    passed = {name: handed_on[name] for name, value in written.items() if value is None and name in handed_on}
    return passed | {name: str(value) for name, value in written.items() if value is not None}
