"""Bodies as someone might send them, shown in the OpenAPI document; tests send all of them.

Those of methods that are requested by a body of their own are with their specifications (`JobSpec.examples`).
"""

from typing import Any, Final

from app.contracts.jobs import JobKind
from app.methods.catalogue import methods_of

Examples = dict[str, dict[str, Any]]


def _named(examples: dict[str, Any]) -> Examples:
    return {summary: {"summary": summary, "value": value} for summary, value in examples.items()}


def _of(kind: JobKind) -> Examples:
    return _named({
        f"{method.name}: {title}": {"method": method.name, **body}
        for method in methods_of(kind)
        for title, body in method.spec.examples.items()
    })  # fmt: skip


ANONYMIZATIONS: Final = _of(JobKind.ANONYMIZATION)
AUDITS: Final = _of(JobKind.AUDIT)

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
        "the job of one person": {"target": "job", "points": [{"age": 22, "income": 30000}]},
        "two people, by five neighbours": {
            "target": "job",
            "neighbours": 5,
            "points": [{"age": 22, "income": 30000}, {"age": 50, "income": 61000.5}],
        },
    }
)

MORE_STATISTICS: Final = _named(
    {
        "a covariance that no one requested": {"statistics": [{"kind": "covariance", "of": ["age", "income"]}]},
        "a regression, in the sample form": {
            "statistics": [{"kind": "regression", "of": ["income", "age"]}, {"kind": "variance", "of": ["income"]}],
            "ddof": 1,
        },
    }
)

NAMES: Final = _named(
    {
        "a name": {"name": "Commuters of 2026, second delivery"},
        "tags that replace the former": {"tags": {"year": "2026", "for": "open data"}},
    }
)

RELEASE_CHANGES: Final = NAMES | _named({"who else reads it": {"readers": ["health", "transport"]}})

FAMILY_ANSWERS: Final = _named(
    {
        "they are of the same people": {"other_family_id": "fam_4b1d6a0f2c9e4d7f8a3b5c6d", "people": "same"},
        "they are of other people": {"other_family_id": "fam_4b1d6a0f2c9e4d7f8a3b5c6d", "people": "other"},
    }
)

PUBLISHING: Final = _named(
    {
        "as it is": {},
        "with findings of an audit accepted": {"accept_findings": ["composition"]},
        "for two others": {"readers": ["health", "transport"]},
        "for everyone, where the operator lets them read without a key": {"readers": "public"},
    }
)

OWNER_CHANGES: Final = _named(
    {
        "jobs publish for everyone": {"jobs_may_publish": True},
        "jobs publish for keys with releases:publish, and leave drafts for others": {"jobs_may_publish": False},
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
