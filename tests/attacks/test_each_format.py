"""Each data file of a release verifies alone: a reader has one of them and the certificate, and no Parquet."""

from collections.abc import Callable

import pytest

from app.contracts.releases import ending_of
from tests.attacks.certified import FORMATS, KINDS, Bundle


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_any_format_verifies_as_the_parquet_file_does(
    bundles: Callable[[str], Bundle], kind: str, scale: int
) -> None:
    """In `make test` each kind of release in two other formats, the next kind in the next two."""
    bundle, first = bundles(kind), [*KINDS].index(kind)
    others = [name for name in FORMATS if name != "parquet"]
    chosen = others if scale > 1 else [others[(2 * first + n) % len(others)] for n in (0, 1)]
    alone = {
        name: {f"release.{ending_of(name)}": bundle.entries[f"release.{ending_of(name)}"]}
        for name in ["parquet", *chosen]
    }
    reports = {name: bundle.report(bundle.body, files) for name, files in alone.items()}
    expected = reports["parquet"]
    assert expected.exit_code == 0, expected
    for name, report in reports.items():
        assert (report.problems, report.unchecked, report.doubtful) == ([], [], []), (name, report)
        assert [one.finding for one in report.statistics] == [one.finding for one in expected.statistics], name
        assert [one.recomputed for one in report.statistics] == [one.recomputed for one in expected.statistics], name
