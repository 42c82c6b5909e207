"""Generators that are packed and unpacked, scratch folders, provenance as others read it."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given
from hypothesis import strategies as st
from prov.model import ProvDocument

from app.contracts.datasets import Profile
from app.contracts.inputs import DatasetInput, Inputs, JobInput, ReleaseInput
from app.contracts.jobs import JobState
from app.db.repositories.claims import Claim
from app.db.repositories.releases import ReleaseRow
from tests.tmpfs import small_file_system
from workers.engine.ending.provenance import public_document, restricted_document
from workers.engine.randomness import new_generator, pack_generator, unpack_generator
from workers.engine.registry import RUNNERS, runner_for
from workers.engine.scratch import room_each, scratch_folder, sweep
from workers.methods.protocol import Runner, Stepwise


@given(seed=st.none() | st.integers(0, 2**63 - 1), draws=st.integers(0, 20), halves=st.booleans())
def test_an_unpacked_generator_goes_on_with_the_numbers_that_would_have_followed(
    seed: int | None, draws: int, halves: bool
) -> None:
    rng = new_generator(seed)
    rng.random(draws)
    if halves:
        rng.integers(0, 2**31, dtype=np.uint32)  # leaves half a word behind
    packed = pack_generator(rng)
    assert all(array.dtype.kind == "u" for array in packed.values())
    again = unpack_generator(packed)
    assert again.integers(0, 2**31, 5, dtype=np.uint32).tolist() == rng.integers(0, 2**31, 5, dtype=np.uint32).tolist()
    assert again.normal(size=5).tolist() == rng.normal(size=5).tolist()
    assert again.permutation(50).tolist() == rng.permutation(50).tolist()


def test_a_generator_is_the_stream_cipher_of_its_key() -> None:
    """RFC 8439's ChaCha20, by another implementation: key and counter give these very bits."""
    rng = new_generator(None)
    key = rng.bit_generator.state["state"]["keysetup"].astype("<u4").tobytes()
    cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    stream = np.frombuffer(cipher.update(bytes(64 * 4)), dtype="<u4")
    assert rng.integers(0, 2**32, 64, dtype=np.uint32).tolist() == stream.tolist()


def test_two_generators_share_nothing_and_a_seed_makes_them_equal() -> None:
    assert new_generator(None).random() != new_generator(None).random()
    assert new_generator(5).random(9).tolist() == new_generator(5).random(9).tolist()


def test_each_job_has_its_share_of_the_room_and_what_jobs_have_now_is_room(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", megabytes=8) as disk:
        empty = room_each(disk / "new" / "scratch", concurrency=1)
        assert empty is not None
        assert 6_000_000 < empty <= 8 << 20
        assert room_each(disk, concurrency=4) == empty // 4
        (disk / "another's").write_bytes(bytes(3_000_000))
        left = room_each(disk, concurrency=1)
        assert left is not None
        assert left == pytest.approx(empty - 3_000_000, abs=65_536)
        with scratch_folder(disk) as mine:
            (mine / "gate").mkdir()
            (mine / "gate" / "release.csv").write_bytes(bytes(2_000_000))
            assert room_each(disk, concurrency=1) == pytest.approx(left, abs=65_536)
            (mine / "elsewhere").symlink_to("/dev/zero")
            assert room_each(disk, concurrency=1) == pytest.approx(left, abs=65_536)


def test_a_scratch_folder_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "new") as path:
        assert path.stat().st_mode & 0o777 == 0o700
        (path / "part").write_bytes(b"x")
        assert sweep(tmp_path / "new", older_than=0) == 0, "it is in use"
    assert list((tmp_path / "new").iterdir()) == []


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from workers.engine.scratch import scratch_folder\n"
        "with scratch_folder(Path(sys.argv[1])) as path:\n"
        "    (path / 'data').write_bytes(b'x'); print(path, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    with process:
        left = Path(process.stdout.readline().strip())
        assert sweep(tmp_path, older_than=0) == 0
        assert left.exists()
        process.kill()
        process.wait(10)
    assert sweep(tmp_path, older_than=3_600) == 0
    assert sweep(tmp_path, older_than=0) == 1
    assert not left.exists()


def test_provenance_can_be_read_as_prov_json() -> None:
    dataset = DatasetInput(id="ds_1", sha256="e" * 64, profile=Profile(rows=48_842, columns=()), key="k")
    release = ReleaseInput(
        id="rel_0", method="boxes", dataset_id="ds_1", rows=12, columns=(), flags=(), spec={}, key="k", sha256="c" * 64
    )
    job = JobInput(id="job_0", method="group", state=JobState.SUCCEEDED, spec={})
    claimed = Claim(
        id="job_1", owner="tester", kind="anonymization", method="boxes", queue="batch", spec={"k": 5, "seed": "given"},
        spec_version=1, seed=4711, tags={}, requested_by="key_1", draw=1, attempt=1,
        created_at=datetime.now(UTC),
        inputs=Inputs({"dataset_id": dataset, "other_dataset_id": dataset}, {"release_id": release}, {"model": job}),
    )  # fmt: skip
    made = ReleaseRow(
        id="rel_1", owner="ann", job_id="job_1", dataset_id="ds_1", method="boxes", rows=7, columns=(),
        flags=("reproducible",), tags={}, statistics=(), parameters={"k": 5},
    )  # fmt: skip
    sha256 = {"csv": "f" * 64}
    attempts = [{"attempt": 1, "outcome": "succeeded"}]
    public = public_document(claimed, datetime.now(UTC), made, sha256)
    restricted = restricted_document(claimed, attempts, datetime.now(UTC), made, sha256)
    for document in (public, restricted):
        read = ProvDocument.deserialize(content=json.dumps(document), format="json")
        assert {str(record.identifier) for record in read.get_records() if record.identifier} >= {
            "surebox:job_1",
            "surebox:rel_1",
            "surebox:software",
        }
        assert "4711" not in json.dumps(document)
    inputs = ("ds_1", "rel_0", "job_0", "48842", "e" * 64, "c" * 64, "other_dataset_id")
    assert [name for name in inputs if name in json.dumps(public)] == []
    assert [name for name in inputs if name not in json.dumps(restricted)] == []


def test_every_runner_is_there_and_either_runs_through_or_steps() -> None:
    for method in list(RUNNERS):
        runner = runner_for(method)
        assert isinstance(runner, Stepwise) != isinstance(runner, Runner)
    with pytest.raises(LookupError, match="no runner serves the method nonsense"):
        runner_for("nonsense")
