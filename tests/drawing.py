"""Random examples: the same in every `make test`; drawn anew, and many more of them, in `make long`.

A property draws its tables from `numpy.random.default_rng(seed)` for `seed in seeds(few)`, or by hypothesis with
`max_examples=examples(few)`. What takes minutes even with few examples is marked `@pytest.mark.long`: only `make long`
runs it. `make long` prints its number; with `SUREBOX_LONG` set to it the same examples are drawn again.
"""

import os
from typing import Final

#: What examples follow from; 0: those of `make test`.
LONG: Final = int(os.environ.get("SUREBOX_LONG", "0"))
#: How many times as many examples `make long` draws.
TIMES: Final = 10


def examples(few: int) -> int:
    """Return the number of examples of a property that draws `few` in `make test`."""
    return few * TIMES if LONG else few


def seeds(few: int, many: int | None = None) -> list[int]:
    """Return seeds: 0 to `few` - 1, or, in `make long`, `many` new ones (by default ten times as many)."""
    if not LONG:
        return list(range(few))
    import numpy as np  # tests/conftest.py imports this module before it states how many threads numpy has

    drawn = np.random.SeedSequence(LONG).generate_state(examples(few) if many is None else many, np.uint32)
    return [int(seed) for seed in drawn]
