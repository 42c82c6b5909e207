"""Bodies as somebody might send them, shown in the OpenAPI document; tests send all of them.

They speak of one file: people with region, age, hours of work, way to work, income, sex, job. Ids stand for real ones.
"""

from typing import Any, Final

DATASET: Final = "ds_0123456789abcdef01234567"
RELEASE: Final = "rel_0123456789abcdef01234567"
GROUP_JOB: Final = "job_0123456789abcdef01234567"

_QUASI_IDENTIFIERS: Final = {"dataset_id": DATASET, "columns": ["age", "income"]}
_VARIABLES: Final[list[dict[str, Any]]] = [
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

Examples = dict[str, dict[str, Any]]


def _named(examples: dict[str, Any]) -> Examples:
    return {summary: {"summary": summary, "value": value} for summary, value in examples.items()}


ANONYMIZATIONS: Final = _named(
    {
        "boxes: means, variances and correlations": {"method": "boxes", **_QUASI_IDENTIFIERS, "k": 5},
        "boxes: chosen statistics, rare records left out": {
            "method": "boxes",
            **_QUASI_IDENTIFIERS,
            "k": 5,
            "statistics": [
                {"kind": "mean", "of": ["income"], "weight": 2.0},
                {"kind": "regression", "of": ["income", "age"]},
            ],
            "rare_records": "dismiss",
            "domains": {"age": [0, 120]},
            "keep": ["job"],
        },
        "uncertain: noise of one size for all": {
            "method": "uncertain",
            **_QUASI_IDENTIFIERS,
            "k": 5,
            "scales": "common",
        },
        "uncertain: uniform noise, fitted to cells of the data": {
            "method": "uncertain",
            **_QUASI_IDENTIFIERS,
            "k": 5,
            "model": "uniform",
            "scales": "shared",
            "minimum_scale": {"income": 100.0},
            "allow_repeat": True,
        },
        "condensation: pseudo-records": {"method": "condensation", **_QUASI_IDENTIFIERS, "k": 20},
        "condensation: with a column as it is": {
            "method": "condensation",
            **_QUASI_IDENTIFIERS,
            "k": 20,
            "keep": ["way"],
            "labels": {"purpose": "teaching"},
        },
        "swaps: every outlier that a group job found": {
            "method": "swaps",
            "dataset_id": DATASET,
            "parameter": ["region"],
            "model_job_id": GROUP_JOB,
            "search": {"method": "assignment"},
        },
        "swaps: one region, by a rule of one's own": {
            "method": "swaps",
            "dataset_id": DATASET,
            "parameter": ["region"],
            "model": {"variables": _VARIABLES, "rules": [{"terms": [1, 2, 1]}]},
            "mask": [{"value": "R04", "at_most": 12}],
            "drop": ["job"],
            "search": {"method": "memetic", "population": 30, "pairs": 12, "generations": 50},
        },
    }
)

AUDITS: Final = _named(
    {
        "group: can soldiers' regions be found?": {
            "method": "group",
            "auxiliary_dataset_id": DATASET,
            "vital": {"column": "job", "values": ["army"]},
            "parameter": ["region"],
            "variables": _VARIABLES,
            "search": {"method": "exhaustive"},
        },
        "group: soldiers of one sex, rules evolved": {
            "method": "group",
            "auxiliary_dataset_id": DATASET,
            "target_dataset_id": DATASET,
            "vital": [{"column": "job", "values": ["army"]}, {"column": "sex", "values": [1]}],
            "parameter": ["region"],
            "variables": _VARIABLES,
            "recode": {"auxiliary": {"way": {"2": 1}}, "target": {"way": {"2": 1}}},
            "search": {"method": "evolution", "generations": 20, "runs": 2},
            "outliers": {"exclude": [["R00"]]},
        },
        "group_profile: what rules see of a file, at every grade": {
            "method": "group_profile",
            "dataset_ids": [DATASET],
            "model_job_id": GROUP_JOB,
            "places": [["R00"]],
        },
        "group_profile: of a dataset, by a model from elsewhere": {
            "method": "group_profile",
            "dataset_ids": [DATASET],
            "parameter": ["region"],
            "model": {"variables": _VARIABLES, "rules": [{"terms": [1, 2, 1]}]},
            "grid": [0.3, 0.5],
        },
        "swap_detection: what classifiers see of a file": {
            "method": "swap_detection",
            "dataset_ids": [DATASET],
            "model_job_id": GROUP_JOB,
            "places": [["R00"]],
        },
        "swap_detection: of a dataset, without a column": {
            "method": "swap_detection",
            "dataset_ids": [DATASET],
            "model_job_id": GROUP_JOB,
            "drop": ["sex"],
            "sample": 2000,
        },
        "linkage: with the original": {"method": "linkage", "release_id": RELEASE},
        "linkage: with a dataset that the adversary knows": {
            "method": "linkage",
            "release_id": RELEASE,
            "dataset_id": DATASET,
        },
        "linkage: several releases jointly": {"method": "linkage", "release_ids": [RELEASE]},
        "composition: what a release and those before it tell together": {
            "method": "composition",
            "release_ids": [RELEASE],
            "sensitive": ["job"],
        },
        "composition: tables that others released of the same people": {
            "method": "composition",
            "dataset_ids": [DATASET],
            "dataset_id": DATASET,
            "columns": ["region", "age"],
            "k": 2,
            "require": {"k": 2, "share_below": 0.01},
        },
        "determination: what a release gives away": {"method": "determination", "release_ids": [RELEASE]},
        "determination: incomes in hundreds": {
            "method": "determination",
            "release_ids": [RELEASE],
            "grid": {"income": 100.0},
            "require": {"share_determined": 0.05, "share_certain": 0.2},
        },
        "influence: what single records decide": {"method": "influence", "release_ids": [RELEASE], "records": 1},
        "influence: no published number may follow a record": {
            "method": "influence",
            "release_ids": [RELEASE],
            "records": 1,
            "require": {"slope": 0.2},
        },
        "frontier: what each k costs": {"method": "frontier", **_QUASI_IDENTIFIERS, "k": [2, 3]},
        "frontier: for one mean, in public limits": {
            "method": "frontier",
            **_QUASI_IDENTIFIERS,
            "k": [2, 4],
            "statistics": [{"kind": "mean", "of": ["income"]}],
            "domains": {"age": [0, 120]},
        },
        "table: what is demanded of a table that others anonymized": {
            "method": "table",
            "dataset_id": DATASET,
            "quasi_identifiers": ["region", "age", "sex"],
            "sensitive": ["job"],
            "require": {"k": 5, "l": 2, "t": 0.3},
        },
        "table: a sample, and sums by region that are to be published": {
            "method": "table",
            "dataset_id": DATASET,
            "quasi_identifiers": ["region", "age"],
            "missing": "matches_anything",
            "sampling_fraction": 0.01,
            "sums": [{"of": "income", "by": ["region"]}],
        },
    }
)

COUNTS: Final = _named(
    {
        "people between 30 and 40": {"queries": [{"age": [30, 40]}]},
        "low incomes, by age": {
            "queries": [{"age": [None, 40], "income": [None, 20000]}, {"age": [41, None], "income": [None, 20000]}]
        },
    }
)

CLASSES: Final = _named(
    {
        "the job of one person": {"label": "job", "points": [[22, 30000]]},
        "two people, by five neighbours": {"label": "job", "neighbours": 5, "points": [[22, 30000], [50, 61000.5]]},
    }
)

MORE_STATISTICS: Final = _named(
    {
        "a covariance that nobody asked for": {"statistics": [{"kind": "covariance", "of": ["age", "income"]}]},
        "a regression, in the sample form": {
            "statistics": [{"kind": "regression", "of": ["income", "age"]}, {"kind": "variance", "of": ["income"]}],
            "ddof": 1,
        },
    }
)

NAMES: Final = _named(
    {
        "a name": {"name": "Commuters of 2026, second delivery"},
        "labels in place of the former": {"labels": {"year": "2026", "for": "open data"}},
    }
)

RELEASE_CHANGES: Final = NAMES | _named({"who else reads it": {"readers": ["health", "transport"]}})

PUBLISHING: Final = _named(
    {
        "as it is": {},
        "although findings stand": {"accept": ["composition"]},
        "for two others": {"readers": ["health", "transport"]},
        "for everybody": {"readers": "public"},
    }
)
WITHDRAWING: Final = _named(
    {
        "a corrected one follows": {"reason": "superseded by the corrected delivery"},
        "it may not be used any more": {"reason": "the consent to this use was withdrawn"},
    }
)

_CSV: Final = "region,age,hours,way,income,sex,job\nR04,22,55,3,30500,1,army\nR11,41,38,1,,2,other\n"
_QUOTED: Final = 'name,wage\n"Ålesund, centre",1203.5\nBergen,998\n'
_NDJSON: Final = '{"region": "R04", "age": 22}\n{"region": "R11", "age": null}\n'

#: By media type; a Parquet file cannot be written down here.
UPLOADS: Final[dict[str, Examples]] = {
    "text/csv": _named({"a value is missing": _CSV, "commas inside quotes": _QUOTED}),
    "text/tab-separated-values": _named(
        {"a value is missing": _CSV.replace(",", "\t"), "two columns": "age\twage\n18\t1000\n19\t1100\n"}
    ),
    "application/x-ndjson": _named(
        {"a value is missing": _NDJSON, "true and false": '{"member": true}\n{"member": false}\n'}
    ),
}
