"""What a `Method` says is what both sides do."""

import re
from dataclasses import fields

import pytest

from app.contracts.ids import Named, naming_fields
from app.contracts.jobs import JobKind
from app.contracts.stored import StoredSpec
from app.methods.catalogue import METHODS, SPECS, Method
from app.methods.rules import RULES
from tests.meta.project import ROOT
from workers.engine.ending.review import COMPOSED
from workers.engine.registry import RUNNERS, known

EACH = pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))


def test_every_method_has_its_rules_and_its_runner_and_nothing_else_has() -> None:
    assert set(RULES) == set(METHODS)
    assert all(callable(rules.check) and callable(rules.fill) for rules in RULES.values())
    assert set(RUNNERS) == set(SPECS)


def test_a_worker_claims_all_versions_between_the_oldest_and_the_newest() -> None:
    assert known() == {
        (name, version) for name, spec in SPECS.items() for version in range(spec.oldest, spec.version + 1)
    }


@EACH
def test_a_method_answers_what_is_there_and_is_asked_of_releases(method: Method) -> None:
    for name in method.answers:
        assert METHODS[name].kind in {JobKind.AUDIT, JobKind.QUERY, JobKind.PUBLICATION}
        assert Named.RELEASE in naming_fields(METHODS[name].spec).values()


@EACH
def test_only_what_makes_releases_says_what_they_are(method: Method) -> None:
    releases = method.kind is JobKind.ANONYMIZATION
    assert releases == ("formats" in method.spec.model_fields)
    if not releases:
        assert (method.flags, method.statistic, method.answers) == ((), None, frozenset())
        assert not method.draws
        assert not method.ledgered
    assert method.result.model_fields["method"].default == method.name
    assert method.shown.model_fields["method"].default == method.name


@EACH
def test_what_a_job_shows_is_part_of_its_result(method: Method) -> None:
    assert set(method.shown.model_fields) <= set(method.result.model_fields)


@EACH
def test_a_body_says_by_its_types_what_it_works_on(method: Method) -> None:
    assert method.name in SPECS
    named = [name for name in method.spec.model_fields if name.endswith(("_id", "_ids"))]
    assert sorted(naming_fields(method.spec)) == sorted(named)


def test_a_release_of_any_method_is_composed_before_it_is_published() -> None:
    """By a ledger, or as the original's rows are: what nobody has thought of leaves nobody hidden."""
    making = {method.name for method in METHODS.values() if method.kind is JobKind.ANONYMIZATION}
    assert making == COMPOSED


def test_a_stored_specification_is_read_with_the_defaults_of_its_method() -> None:
    """Written once more, for what reads a release knows its method no more than what was erased of its job."""
    read = StoredSpec()
    making = [method.spec for method in METHODS.values() if method.kind is JobKind.ANONYMIZATION]
    given = {
        each.name: [spec.model_fields[each.name] for spec in making if each.name in spec.model_fields]
        for each in fields(read)
    }
    assert not [name for name, those in given.items() if not those], "a field of no method"
    for name, those in given.items():
        defaults = [one.get_default(call_default_factory=True) for one in those if not one.is_required()]
        assert all(default == getattr(read, name) for default in defaults), name


def test_the_specification_of_a_release_is_read_in_one_place() -> None:
    """By its type and not by the names of its fields: a default that is written at a place is another at the next."""
    by_name = re.compile(r"\b(?!job\b|claimed\b|_claimed\b)\w+\.spec(?:\.get\(|\[)")
    places = [
        f"{path.relative_to(ROOT)}:{number}"
        for wing in ("app", "workers")
        for path in sorted((ROOT / wing).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if by_name.search(line)
    ]
    assert places == []
