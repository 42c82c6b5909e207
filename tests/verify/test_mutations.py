"""Ten thousand changes to what a reader holds, of every kind: each is found, and named as what it is."""

import base64
import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from surebox_verify.bundle import ENVELOPE as INSIDE
from surebox_verify.bundle import unpacked
from surebox_verify.envelope import UnreadableError
from surebox_verify.keys import read_keys
from surebox_verify.report import Finding, Report
from surebox_verify.verification import verify
from tests.verify.made import BOUNDS, MADE_AT, Issuer, means, parquet, rows

NAME = "release.parquet"
ISSUER, STRANGER, OTHER_KEY = Issuer.new(), Issuer.new(), Issuer.new()
FRAME = rows()
STATISTICS = means(FRAME)
FILES = {NAME: parquet(FRAME)}
ENVELOPE = ISSUER.certify(FILES, STATISTICS)
OTHERS = [
    (parquet(frame), ISSUER.certify({NAME: parquet(frame)}, means(frame)))
    for frame in (rows(seed=seed) for seed in range(20, 30))
]
FORMATS = {
    **FILES,
    "release.csv": FRAME.write_csv().encode(),
    "release.csv.gz": gzip.compress(FRAME.write_csv().encode()),
    "release.ndjson": FRAME.write_ndjson().encode(),
}
OF_FORMATS = ISSUER.certify(FORMATS, STATISTICS)
BOTH = Issuer([*ISSUER.keys, *OTHER_KEY.keys])
NOT_CERTIFIED = r"^release\.[a-z.]+: not as certified$"
UNREADABLE = r"envelope|certificate|signature"


@dataclass(frozen=True)
class Held:
    """What a reader holds."""

    files: Mapping[str, bytes]
    envelope: bytes
    keys: bytes
    revocations: bytes | None = None
    recompute: bool = False

    def report(self) -> Report:
        return verify(
            self.files, self.envelope, read_keys(self.keys), revocations=self.revocations, recompute=self.recompute
        )

    def named(self) -> list[str]:
        """All that is wrong with it, in words; empty where nothing is."""
        try:
            report = self.report()
        except UnreadableError as error:
            return [str(error)]
        assert (report.exit_code == 0) == (not [*report.problems, *report.unchecked])
        return [*report.problems, *report.unchecked]


TRUE = Held(FILES, ENVELOPE, ISSUER.key_set())
Draw = random.Random


def flipped(raw: bytes, draw: Draw) -> bytes:
    changed = bytearray(raw)
    changed[draw.randrange(len(raw))] ^= draw.randrange(1, 256)
    return bytes(changed)


def cut(raw: bytes, draw: Draw) -> bytes:
    return raw[: draw.randrange(len(raw))]


def of_rows(change: Callable[[pl.DataFrame, Draw], pl.DataFrame]) -> Callable[[Draw], Held]:
    """The file of other rows."""
    return lambda draw: replace(TRUE, files={NAME: parquet(change(FRAME, draw))})


def bound_moved(frame: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    """By one unit in the last place, of one row."""
    row, name, towards = draw.randrange(len(frame)), draw.choice(BOUNDS), draw.choice([-np.inf, np.inf])
    values = frame[name].to_numpy().copy()
    values[row] = np.nextafter(values[row], towards)
    return frame.with_columns(pl.Series(name, values))


def row_twice(frame: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    order = list(range(len(frame)))
    order.insert(draw.randrange(len(frame)), draw.randrange(len(frame)))
    return frame[order]


def row_dropped(frame: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    gone = draw.randrange(len(frame))
    return frame[[row for row in range(len(frame)) if row != gone]]


def values_exchanged(frame: pl.DataFrame, draw: Draw) -> pl.DataFrame:
    """Two rows of different boxes exchange a bound."""
    name = draw.choice(BOUNDS)
    values = frame[name].to_numpy().copy()
    first = draw.randrange(len(values))
    second = draw.choice(np.flatnonzero(values != values[first]).tolist())
    values[[first, second]] = values[[second, first]]
    return frame.with_columns(pl.Series(name, values))


def scaled(statistic: dict[str, Any], inward: float) -> dict[str, Any]:
    """The same statistic with a range that is narrower, or wider where `inward` is negative."""
    low, high = statistic["guaranteed"]
    return statistic | {"guaranteed": [low + inward * (high - low), high - inward * (high - low)], "attained": None}


def range_changed(draw: Draw) -> Held:
    """Of a certificate that was signed before: wider or narrower by anything from a unit in the last place."""
    envelope = json.loads(ENVELOPE)
    body = json.loads(base64.b64decode(envelope["payload"]))
    one = draw.choice(body["predicate"]["statistics"])
    side, step = draw.randrange(2), draw.choice([-1, 1])
    if draw.random() < 0.5:
        one["guaranteed"][side] = float(np.nextafter(one["guaranteed"][side], step * np.inf))
    else:
        one["guaranteed"][side] += step * 10 ** draw.uniform(-9, 3)
    envelope["payload"] = base64.b64encode(json.dumps(body).encode()).decode()
    return replace(TRUE, envelope=json.dumps(envelope).encode())


def range_signed(draw: Draw) -> Held:
    """A service that signs a range narrower than its data say."""
    narrower = [scaled(each, 10 ** draw.uniform(-9, -0.4)) for each in STATISTICS]
    return replace(TRUE, envelope=ISSUER.certify(FILES, narrower), recompute=True)


def rows_signed(draw: Draw) -> Held:
    """A service that signs a file with fewer rows than its ranges are of."""
    gone = draw.sample(range(len(FRAME)), 12)
    files = {NAME: parquet(FRAME[[row for row in range(len(FRAME)) if row not in gone]])}
    return Held(
        files, ISSUER.certify(files, [one | {"attained": None} for one in STATISTICS]), TRUE.keys, recompute=True
    )


def keyed(**also: Callable[[Draw], Any]) -> Callable[[Draw], Held]:
    """A key set that says more of the key."""
    return lambda draw: replace(
        TRUE, keys=ISSUER.key_set(also={0: {name: claim(draw) for name, claim in also.items()}})
    )


def another_key(draw: Draw) -> Held:
    """A forger's file under the forger's certificate."""
    content, _ = draw.choice(OTHERS)
    return replace(TRUE, files={NAME: content}, envelope=STRANGER.certify({NAME: content}, STATISTICS))


def of_others(_: Draw) -> Held:
    return replace(TRUE, keys=Issuer.new().key_set())


def key_damaged(draw: Draw) -> Held:
    """A byte of the key itself."""
    x = json.loads(TRUE.keys)["keys"][0]["x"].encode()
    return replace(TRUE, keys=TRUE.keys.replace(x, flipped(x, draw)))


def file_damaged(draw: Draw) -> Held:
    """A byte of a file of any format, which is read nevertheless."""
    name = draw.choice(list(FORMATS))
    change = draw.choice([flipped, cut])
    return replace(TRUE, files={name: change(FORMATS[name], draw)}, envelope=OF_FORMATS, recompute=True)


def id_changed(draw: Draw) -> Held:
    listed = json.loads(TRUE.keys)
    key_id = list(listed["keys"][0]["kid"])
    place = draw.randrange(len(key_id) - 1)
    key_id[place] = "A" if key_id[place] != "A" else "B"
    listed["keys"][0]["kid"] = "".join(key_id)
    return replace(TRUE, keys=json.dumps(listed).encode())


def key_in_the_list(draw: Draw) -> Held:
    """The key set is older than the list, which a key signed that is not lost."""
    lost = OTHER_KEY.revoke(*(each for _, each in draw.sample(OTHERS, draw.randrange(5))), keys=ISSUER.ids)
    return replace(TRUE, keys=BOTH.key_set(), revocations=lost)


def in_the_list(draw: Draw) -> Held:
    listed = [ENVELOPE, *(each for _, each in draw.sample(OTHERS, draw.randrange(8)))]
    draw.shuffle(listed)
    return replace(TRUE, revocations=ISSUER.revoke(*listed))


def list_of(change: Callable[[bytes, Draw], bytes]) -> Callable[[Draw], Held]:
    """A damaged list of revocations."""
    listed = ISSUER.revoke(*(each for _, each in OTHERS))
    return lambda draw: replace(TRUE, revocations=change(listed, draw))


LATER, EARLIER = MADE_AT + 10_000_000, MADE_AT + 1_000
KINDS: dict[str, tuple[int, Callable[[Draw], Held], str]] = {
    "a byte of the file": (1350, lambda draw: replace(TRUE, files={NAME: flipped(FILES[NAME], draw)}), NOT_CERTIFIED),
    "a byte of the file that is read": (100, file_damaged, NOT_CERTIFIED),
    "a byte of the envelope": (2500, lambda draw: replace(TRUE, envelope=flipped(ENVELOPE, draw)), UNREADABLE),
    "a byte of the list": (500, list_of(flipped), "^revocations: "),
    "a byte of a key": (450, key_damaged, "key set|of a key|thumbprint"),
    "a file cut off": (500, lambda draw: replace(TRUE, files={NAME: cut(FILES[NAME], draw)}), NOT_CERTIFIED),
    "an envelope cut off": (500, lambda draw: replace(TRUE, envelope=cut(ENVELOPE, draw)), "^the envelope is no JSON"),
    "a list cut off": (300, list_of(cut), "^revocations: the envelope is no JSON"),
    "a key set cut off": (200, lambda draw: replace(TRUE, keys=cut(TRUE.keys, draw)), "^the key set is no JSON"),
    "a bound moved": (500, of_rows(bound_moved), NOT_CERTIFIED),
    "a row twice": (300, of_rows(row_twice), NOT_CERTIFIED),
    "a row dropped": (300, of_rows(row_dropped), NOT_CERTIFIED),
    "values exchanged": (300, of_rows(values_exchanged), NOT_CERTIFIED),
    "a range changed": (500, range_changed, "^statistics: not those whose digest was certified$"),
    "a range that was signed so": (75, range_signed, r"^mean\(age\): .* follows from the data file$"),
    "rows that were signed so": (75, rows_signed, r"^mean\((age|hours)\): .* follows from the data file$"),
    "a file of another release": (
        200, lambda draw: replace(TRUE, files={NAME: draw.choice(OTHERS)[0]}), NOT_CERTIFIED,
    ),
    "an envelope of another release": (
        200, lambda draw: replace(TRUE, envelope=draw.choice(OTHERS)[1]), NOT_CERTIFIED,
    ),
    "a forger's key": (200, another_key, "^signature: unknown key$"),
    "a key set of others": (150, of_others, "^signature: unknown key$"),
    "an expired key": (200, keyed(exp=lambda draw: draw.randrange(MADE_AT, EARLIER)), "^signature: expired key$"),
    "a key of later": (
        150, keyed(iat=lambda draw: draw.randrange(LATER, 2 * LATER)), "^signature: key not valid yet$",
    ),
    "a revoked key": (
        150, keyed(revoked=lambda draw: draw.choice([{}, {"revoked_at": MADE_AT}])), "^signature: revoked key$",
    ),
    "a key that the list names": (100, key_in_the_list, "^signature: revoked key$"),
    "a certificate that the list names": (100, in_the_list, "^revoked: since 2026-06-01"),
    "a key with another id": (100, id_changed, "thumbprint"),
}  # fmt: skip


def test_what_was_not_changed_holds() -> None:
    for name, content in FORMATS.items():
        assert replace(TRUE, files={name: content}, envelope=OF_FORMATS, recompute=True).named() == []
    assert replace(TRUE, revocations=ISSUER.revoke(*(each for _, each in OTHERS))).named() == []


def test_there_are_ten_thousand() -> None:
    assert sum(count for count, _, _ in KINDS.values()) == 10_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_is_found_and_named(kind: str) -> None:
    count, changed, expected = KINDS[kind]
    draw, missed = random.Random(f"20261123 {kind}"), []
    for number in range(count):
        held = changed(draw)
        named = held.named()
        if not any(re.search(expected, one) for one in named):
            missed.append((number, named))
    assert not missed


def test_a_wider_range_is_as_certain_and_one_narrower_than_what_is_exact_is_contradicted() -> None:
    for statistics, finding, exit_code in [
        ([scaled(each, -0.5) for each in STATISTICS], Finding.VERIFIED, 0),
        ([scaled(each, 0.1) | {"attained": each["attained"]} for each in STATISTICS], Finding.CONTRADICTED, 1),
    ]:
        report = replace(TRUE, envelope=ISSUER.certify(FILES, statistics), recompute=True).report()
        assert (report.exit_code, {each.finding for each in report.statistics}) == (exit_code, {finding})


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_a_byte_of_a_bundle_is_found_or_changes_nothing_that_is_read(tmp_path: Path, method: int) -> None:
    """What holds has the true certificate, and each data file as it was."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as bundle:
        for name, content in {**FILES, INSIDE: ENVELOPE}.items():
            bundle.writestr(zipfile.ZipInfo(name), content, method)
    draw, path, whole = random.Random(20261124), tmp_path / "bundle.zip", raw.getvalue()
    for _ in range(2_000):
        path.write_bytes(flipped(whole, draw) if draw.random() < 0.8 else cut(whole, draw))
        try:
            bundle = unpacked(path)
        except UnreadableError:
            continue
        if bundle.envelope is None or not bundle.files:
            continue
        if not replace(TRUE, files=bundle.files, envelope=bundle.envelope).named():
            assert bundle.envelope == ENVELOPE
            assert set(bundle.files.values()) <= set(FILES.values())
