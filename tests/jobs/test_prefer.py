import pytest

from app.api.http_headers import LONGEST_WAIT, respond_async, wait_seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([], None),
        (["wait=10"], 10),
        (["Wait=10"], 10),
        (['wait="10"'], 10),
        (["wait = 10"], 10),
        (["respond-async, wait=7"], 7),
        (["respond-async", "wait=7"], 7),
        (["wait=7; foo=bar, handling=lenient"], 7),
        (['foo="a, wait=3"; x="y;z", wait=4'], 4),
        (["wait=5, wait=9"], 5),
        (["wait=5", "wait=9"], 5),
        (["wait=0"], 0),
        (["wait=31"], LONGEST_WAIT),
        (["wait=" + "9" * 5000], LONGEST_WAIT),
        (["wait"], None),
        (["wait="], None),
        (["wait=10s"], 10),
        (['wait="10s"'], 10),
        (["wait=s"], None),
        (["wait=10ss"], None),
        (["wait=10m"], None),
        (["wait=-1"], None),
        (["wait=1.5"], None),
        (["wait=soon"], None),
        (["wait=१०"], None),
        (["wait=1 0"], None),
        (['wait="10'], None),
        ([";;, ==, wait=6"], 6),
        ([",,,"], None),
        (["await=3"], None),
    ],
)
def test_wait_is_read_as_rfc_7240_says_and_ignored_when_malformed(headers: list[str], seconds: int | None) -> None:
    assert wait_seconds(headers) == seconds


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [([], False), (["respond-async"], True), (["wait=3, Respond-Async"], True), (["respond-async=no"], False)],
)
def test_respond_async_is_read(headers: list[str], wanted: bool) -> None:
    assert respond_async(headers) is wanted


def test_a_long_header_is_read_in_linear_time() -> None:
    assert wait_seconds(["a=" * 30_000 + ";" * 30_000 + '"' * 1001]) is None
