"""Each data file of a release verifies alone: a reader has one of them and the certificate, and no Parquet."""

from collections.abc import Callable

import pytest

from tests.attacks.certified import FORMATS, KINDS, Bundle


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_any_format_verifies_as_the_parquet_file_does(bundles: Callable[[str], Bundle], kind: str) -> None:
    bundle = bundles(kind)
    alone = {name: {f"release.{name}": bundle.entries[f"release.{name}"]} for name in FORMATS}
    reports = {name: bundle.report(bundle.body, files) for name, files in alone.items()}
    expected = reports["parquet"]
    assert expected.exit_code == 0, expected
    for name, report in reports.items():
        assert (report.problems, report.unchecked, report.doubtful) == ([], [], []), (name, report)
        assert [one.finding for one in report.statistics] == [one.finding for one in expected.statistics], name
        assert [one.recomputed for one in report.statistics] == [one.recomputed for one in expected.statistics], name
