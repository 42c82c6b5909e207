"""Limits of connections use inner parts of uvicorn: all of them are named, and there in the version that is locked."""

import ast
import asyncio
import inspect
import tomllib

import uvicorn
from fastapi import FastAPI
from packaging.requirements import Requirement
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.api import protocol
from app.api.protocol import UVICORN, ProblemProtocol
from tests.meta.project import ROOT


def attributes_used() -> dict[str, set[str]]:
    """Attributes of the protocol, of its cycle and of its flow that the source of `ProblemProtocol` names."""
    used: dict[str, set[str]] = {"protocol": set(), "cycle": set(), "flow": set()}
    for node in ast.walk(ast.parse(inspect.getsource(protocol))):
        if isinstance(node, ast.Attribute):
            match ast.unparse(node.value):
                case "self" | "super()":
                    used["protocol"].add(node.attr)
                case "cycle" | "self.cycle":
                    used["cycle"].add(node.attr)
                case "self.flow":
                    used["flow"].add(node.attr)
    ours = set(vars(ProblemProtocol)) - set(dir(HttpToolsProtocol))
    ours |= {
        node.attr
        for node in ast.walk(ast.parse(inspect.getsource(ProblemProtocol.__init__).lstrip().replace("\n    ", "\n")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr.startswith("_")
    }
    replaced = {name for name in vars(ProblemProtocol) if name in dir(HttpToolsProtocol) and not name.startswith("__")}
    used["protocol"] = (used["protocol"] | replaced) - ours - {"__init__"}
    return used


def test_every_inner_part_of_uvicorn_is_named_and_there() -> None:
    assert {part: set(names) for part, names in UVICORN.items()} == attributes_used()
    loop = asyncio.new_event_loop()
    try:
        state = ServerState()
        made = HttpToolsProtocol(uvicorn.Config(FastAPI(), log_config=None), state, {}, loop)
    finally:
        loop.close()
    assert set(UVICORN["protocol"]) <= set(dir(made))
    source = inspect.getsource(RequestResponseCycle)
    assert [name for name in UVICORN["cycle"] if f"self.{name} " not in source and f"self.{name}:" not in source] == []
    assert set(UVICORN["flow"]) <= set(inspect.getsource(FlowControl.__init__).replace("self.", "").split())


def test_another_minor_version_of_uvicorn_is_not_installed() -> None:
    dependencies = map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    (bound,) = (each.specifier for each in dependencies if each.name == "uvicorn")
    major, minor, _ = uvicorn.__version__.split(".")
    assert bound.contains(uvicorn.__version__)
    assert not bound.contains(f"{major}.{int(minor) + 1}.0")
