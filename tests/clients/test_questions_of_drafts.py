"""A draft about which there is a question says how to answer it, and not how to accept what is never accepted."""

from pathlib import Path

import numpy as np
import pytest

from tests.clients.commands import CommandLine
from tests.drawing import seeds


@pytest.mark.parametrize("seed", seeds(1))
def test_a_question_is_answered_by_the_command_that_is_printed(surebox: CommandLine, folder: Path, seed: int) -> None:
    draw = np.random.default_rng([5, seed])
    codes = draw.choice(10**9, 300, replace=False)
    for name in ("one", "other"):
        rows = zip(draw.permutation(codes), draw.integers(18, 90, 300), draw.integers(0, 80, 300), strict=True)
        lines = [f"{code},{age},{hours}" for code, age, hours in rows]
        (folder / f"{name}.csv").write_text("code,age,hours\n" + "\n".join(lines) + "\n")
    first, second = (
        surebox("anonymize", f"{name}.csv", "--quasi-identifiers", "age,hours", "--k", "5", "--publish")
        for name in ("one", "other")
    )
    assert first.code == 0, first.err
    assert "--accept-findings recognition" not in second.err
    (answer,) = [line for line in second.err.splitlines() if line.startswith("A question is answered")]
    command = answer.partition(": surebox ")[2].removesuffix(" (or same)").split()
    assert surebox(*command).code == 0
    publish = [line for line in second.err.splitlines() if line.startswith("Then publish it: surebox ")]
    done = surebox(*publish[0].partition(": surebox ")[2].split())
    assert done.code == 0, done.err
