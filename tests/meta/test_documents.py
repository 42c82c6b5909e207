"""Generated documents are what the code says now; commands in the guides exist."""

import json
import re
import subprocess
import sys

import pytest
from pydantic import SecretStr

from app.api.kinds import CAUSE_AND_REMEDY
from app.auth.principal import Scope
from app.contracts.flags import Flag
from app.contracts.warnings import WarningCode
from app.errors import PHRASES, SureboxError
from app.main import create_app
from app.settings import Settings
from benchmarks.recorded import RESULTS, documents, filled
from tests.meta.project import ROOT, tracked

GUIDES = [path for path in tracked("*.md") if "shared" not in path.parts]


def test_the_openapi_document_is_what_the_service_serves() -> None:
    served = create_app(Settings(server_secret=SecretStr("s" * 32))).openapi()
    assert json.loads((ROOT / "openapi" / "openapi.json").read_text()) == served, "make openapi"
    assert served["openapi"].startswith("3.1")


def test_the_openapi_document_hangs_on_no_phrase_of_this_python() -> None:
    """Python 3.13 renamed three statuses: here all of them have other names."""
    script = (
        "import http, http.client\n"
        "for status in http.HTTPStatus: status.phrase = 'renamed'\n"
        "http.client.responses.update(dict.fromkeys(http.client.responses, 'renamed'))\n"
        "from app.cli.main import main; main()"
    )
    printed = subprocess.run([sys.executable, "-c", script, "openapi"], cwd=ROOT, capture_output=True, check=True)
    assert (ROOT / "openapi" / "openapi.json").read_bytes() == printed.stdout


def test_every_error_has_a_phrase_of_ours() -> None:
    kinds = [SureboxError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    assert {kind.status for kind in kinds} == set(PHRASES)
    assert PHRASES[413] == "Content Too Large"  # RFC 9110, section 15.5.14


def test_no_module_takes_a_phrase_from_the_python_it_runs_on() -> None:
    assert not [path for path in tracked("app/*.py") if re.search(r"\.phrase\b|client\.responses", path.read_text())]


def test_every_setting_is_documented() -> None:
    printed = subprocess.run([sys.executable, "docs/settings.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ROOT / "docs/reference/settings.md").read_text() == printed.stdout, "make settings"
    undescribed = [name for name, field in Settings.model_fields.items() if not field.description]
    assert not undescribed


def test_every_flag_is_documented_with_the_methods_that_raise_it() -> None:
    command = [sys.executable, "docs/release_flags.py"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ROOT / "docs/reference/flags.md").read_text() == printed.stdout, "make flags"
    assert all(re.fullmatch("[a-z-]+", flag) for flag in Flag)
    assert "|  |" not in printed.stdout, "a flag that no method raises"


def test_every_scope_is_documented_with_the_operations_that_require_it() -> None:
    printed = subprocess.run(
        [sys.executable, "docs/key_scopes.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs/reference/scopes.md").read_text() == printed.stdout, "make scopes"
    for scope in Scope:
        assert f"| `{scope.value}` | {scope.meaning} |" in printed.stdout
        assert scope.meaning.endswith(".")
    operations = json.loads((ROOT / "openapi" / "openapi.json").read_text())["paths"]
    for path, methods in operations.items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in printed.stdout


def test_every_code_of_a_warning_is_documented() -> None:
    command = [sys.executable, "docs/warning_codes.py"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ROOT / "docs/reference/warnings.md").read_text() == printed.stdout, "make warnings"
    assert all(re.fullmatch("[a-z_]+", code) for code in WarningCode)
    assert all(f"`{code}`" in printed.stdout and code.meaning.endswith(".") for code in WarningCode)


def test_every_error_is_documented_with_cause_and_remedy() -> None:
    command = [sys.executable, "docs/problem_codes.py"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ROOT / "docs/reference/errors.md").read_text() == printed.stdout, "make errors"
    assert all(cause.endswith(".") and remedy.endswith(".") for cause, remedy in CAUSE_AND_REMEDY.values())


def test_documents_quote_figures_as_they_were_measured() -> None:
    pages = documents()
    assert ROOT / "README.md" in pages
    for page in pages:
        assert page.read_text() == filled(page.read_text()), f"{page.relative_to(ROOT)}: make figures"


def test_no_figure_begins_a_line() -> None:
    """A line that begins with a comment ends the paragraph before it, and is none of the next."""
    begins = re.compile(r"^ *<!-- (?!table |end -->).*", re.MULTILINE)
    assert begins.findall("It is\n<!-- real.key:.1f -->1.2<!-- --> wide.\n<!-- end -->")
    assert {str(page.relative_to(ROOT)): lines for page in GUIDES if (lines := begins.findall(page.read_text()))} == {}


def test_recorded_figures_name_their_command_and_no_machine() -> None:
    for path in RESULTS.glob("*.json"):
        measured = json.loads(path.read_text())
        assert list(measured) == ["command", "cpu", "cores", "date", "commit", "figures"]
        assert not re.search(r"/(?:home|root|work|tmp|Users)/", path.read_text())


def test_the_answer_that_the_readme_shows_has_the_measured_figures() -> None:
    shown = json.loads(
        re.search(r"^```json\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1]
    )
    measured = json.loads((RESULTS / "readme.json").read_text())["figures"]
    assert (shown["result"]["records"], shown["result"]["box_count"]) == (measured["records"], measured["boxes"])
    for statistic, name in zip(shown["result"]["statistics"], ("income", "hours"), strict=True):
        assert statistic["guaranteed"] == [round(end, 2) for end in measured[name]]
        assert statistic["true_value"] == round(measured[f"{name}_true"], 2)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_in_a_guide_exist(guide) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", guide.read_text(), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_links_in_a_guide_lead_somewhere(guide) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", guide.read_text()):
        if "://" not in target:
            assert (guide.parent / target).exists(), target


def test_the_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert re.search(r"^make demo", text, re.MULTILINE)
    assert re.search(r"^make test", text, re.MULTILINE)


#: A command that installs ours by a name alone: whoever registers that name first would be installed.
BY_NAME = re.compile(r"pip3? install[^\n`]*?[\s'\"](surebox[\w-]*)(?:\[[^\]]*\])?(?:['\"\s`.,]|$)[^\n]{0,40}")


def unsafe_installs(text: str) -> list[str]:
    """Lines that install ours from whatever index is set, and do not name yours as the place."""
    return [
        match[0]
        for match in BY_NAME.finditer(text)
        if "your index" not in text[max(0, match.start() - 40) : match.end()]
    ]


def test_no_document_or_message_installs_a_name_that_is_not_ours_yet() -> None:
    wrong = {
        str(path.relative_to(ROOT)): lines
        for path in tracked("*.md", "*.py", "*.ipynb", "*.json", "*.yml", "Dockerfile")
        if path.relative_to(ROOT).parts[0] != "tests" and (lines := unsafe_installs(path.read_text(encoding="utf-8")))
    }
    assert not wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("    - pip install surebox-client\n", True),
        ("pip install 'surebox-verify[ranges]'", True),
        ("run `pip install --quiet surebox`.", True),
        ("pip install ./verify './openapi/sdk/python[polars]'", False),
        ("pip install wheels/surebox_client-*.whl", False),
        ("pip install 'surebox[s3]' from your index", False),
        ("pip install scikit-learn", False),
    ],
)
def test_an_install_by_name_is_noticed(text: str, wrong: bool) -> None:
    assert bool(unsafe_installs(text)) is wrong
