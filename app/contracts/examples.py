"""What the examples of specifications speak of.

One file: people with region, age, hours of work, way to work, income, sex, job. Ids represent real ones.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

#: Bodies without their `method`, by what they are for.
Examples: TypeAlias = Mapping[str, Mapping[str, Any]]

DATASET: Final = "ds_0123456789abcdef01234567"
RELEASE: Final = "rel_0123456789abcdef01234567"
GROUP_JOB: Final = "job_0123456789abcdef01234567"

QUASI_IDENTIFIERS: Final = {"dataset_id": DATASET, "quasi_identifiers": ["age", "income"]}
VARIABLES: Final[list[dict[str, Any]]] = [
    {
        "column": "age",
        "range": [18, 60],
        "terms": [
            {"name": "young", "shape": "pi", "points": [10, 18, 24, 30]},
            {"name": "middle", "shape": "gaussian", "sigma": 4, "centre": 35},
        ],
    },
    {
        "column": "hours",
        "range": [1, 80],
        "terms": [
            {"name": "usual", "shape": "triangle", "points": [30, 40, 50]},
            {"name": "long", "shape": "trapezoid", "points": [40, 50, 80, 80]},
        ],
    },
    {"column": "way", "range": [1, 3], "terms": [{"name": "walks", "shape": "range", "points": [3, 3]}]},
    {"column": "income", "range": [0, 100000]},
]
