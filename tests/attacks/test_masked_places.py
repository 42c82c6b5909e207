"""Masked bases are looked for by how many rules fit, how confident these are, and by shares, high and low.

The attack reads the published file alone, with rules from other states' survey: grades, numbers of fitting rules and
the first of them in order of confidence are computed here from the definitions, not by the service.
"""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.algorithms.groups.rules_oracle import grade
from tests.methods.asking import released, succeed
from tests.methods.bases import in_range
from workers.algorithms.groups.rules.membership import Term

#: Targets, one in the tests and more by the scale; where rules come from, and where those that no one masked against
TARGETS = ("20", "53", "37", "08", "17", "39", "29", "41", "22", "36", "45")
TAUGHT = ("08", "13", "15", "21", "37", "51", "53", "20")
UNUSED = ("04", "22", "24", "40", "45", "49")
GIVEAWAYS = ["MIL", "ESR", "OCCP", "INDP", "COW", "SERIALNO", "HICOV", "PRIVCOV", "PUBCOV"]
Columns = dict[tuple[str, float], np.ndarray]


@pytest.fixture(scope="module")
def acs(real_data: Path) -> Path:
    folder = real_data / "acs2024"
    if not folder.is_dir():
        pytest.skip("the American Community Survey (../shared/data/acs2024) is not on this machine")
    return folder


def upload(client: httpx.Client, frame: pl.DataFrame) -> str:
    body = io.BytesIO()
    frame.write_parquet(body)
    headers = {"Content-Type": "application/vnd.apache.parquet"}
    answer = client.post("/v1/datasets", content=body.getvalue(), headers=headers)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["id"])


def states(acs: Path, names: list[str], variables: list[dict[str, Any]]) -> pl.DataFrame:
    columns = ["PUMA", "MIL", *(one["column"] for one in variables)]
    frame = pl.concat([pl.read_parquet(acs / f"p_{name}.parquet", columns=columns) for name in names])
    return in_range(frame, variables)


def model(client: httpx.Client, frame: pl.DataFrame, target: str, variables: list[dict[str, Any]]) -> str:
    spec = {
        "method": "group", "auxiliary_dataset_id": upload(client, frame), "target_dataset_id": target,
        "hidden_group": {"column": "MIL", "values": [1]}, "region_columns": ["PUMA"], "variables": variables,
        "search": {"method": "exhaustive"},
    }  # fmt: skip
    return str(succeed(client, spec, kind="audits")["id"])


def products(frame: pl.DataFrame, rules: list[dict[str, Any]], variables: list[dict[str, Any]]) -> np.ndarray:
    """(R, N), the product of the grades of each rule's terms, the most confident rule first."""
    tables = []
    for one in variables:
        values, places = np.unique(frame[one["column"]].to_numpy(), return_inverse=True)
        terms = [
            Term(term["shape"], tuple(term["points"]) if "points" in term else (term["sigma"], term["centre"]))
            for term in one["terms"]
        ]
        tables.append([np.array([grade(term, float(value)) for value in values])[places] for term in terms])
    factor = [np.inf if rule["infinite"] else rule["relative_confidence_factor"] for rule in rules]
    out = np.ones((len(rules), frame.height))
    for row, at in enumerate(np.argsort(-np.array(factor), kind="stable")):
        for table, term in zip(tables, rules[at]["terms"], strict=True):
            out[row] *= table[term - 1] if term else 1.0
    return out


def signals(frame: pl.DataFrame, rules: list[dict[str, Any]], variables: list[dict[str, Any]]) -> Columns:
    """Counts and shares of every family, by PUMA in rising order."""
    product = products(frame, rules, variables)
    fits, best = product >= 0.5, product.max(axis=0)
    number = fits.sum(axis=0)
    sets = {("grade", a / 10): best >= a / 10 for a in range(1, 10)}
    sets |= {("number", float(m)): number >= m for m in (1, 2, 3, 5, 10, 20)}
    sets |= {("confident", 1 / t): fits[: -(-len(rules) // t)].any(axis=0) for t in (1, 2, 4, 8)}
    _, place = np.unique(frame["PUMA"].to_numpy(), return_inverse=True)
    sizes = np.bincount(place)
    counts = {name: np.bincount(place[inside], minlength=len(sizes)) for name, inside in sets.items()}
    return counts | {(f"{name} share", at): values / sizes for (name, at), values in counts.items()}


def exposed(columns: Columns, masked: list[int]) -> Iterator[tuple[str, float]]:
    """Families in which a masked place has one of the M highest ranks; where half are equal, is above all but one."""
    for name, values in columns.items():
        others = np.sort(np.delete(values, masked))
        quarter = len(values) // 4
        middle = np.sort(values)[quarter : len(values) - quarter]
        for place in masked:
            higher, equal = sum(values > values[place]), sum(values == values[place])
            degenerate = middle[0] == middle[-1]
            top = not degenerate and higher + (equal + 1) / 2 <= len(masked)
            if top or (degenerate and values[place] > others[-2]):
                yield name
                break


def as_random(columns: Columns, masked: list[int]) -> float:
    """Share of random sets of as many places that are exposed in at least as many families as the masked ones."""
    rng, places = np.random.default_rng(0), len(next(iter(columns.values())))
    here = len(list(exposed(columns, masked)))
    drawn = [rng.choice(places, len(masked), replace=False).tolist() for _ in range(300)]
    return float(np.mean([len(list(exposed(columns, each))) >= here for each in drawn]))


def deviations(columns: Columns, masked: list[int]) -> list[float]:
    """How far each AUC of the masked places lies from 1/2, in standard deviations of random places."""
    rng, out = np.random.default_rng(0), []
    for values in columns.values():
        below = (values[:, None] > values) + 0.5 * (values[:, None] == values)
        ranks = below.sum(axis=1)
        drawn = [ranks[rng.choice(len(values), len(masked), replace=False)].sum() for _ in range(2_000)]
        out.append(float((ranks[masked].sum() - np.mean(drawn)) / max(np.std(drawn), 1e-9)))
    return out


def test_masked_places_are_inconspicuous_by_how_many_rules_fit(
    client: httpx.Client, acs: Path, scale: int, figures: Callable[..., None]
) -> None:
    variables: list[dict[str, Any]] = json.loads((acs / "military-variables.json").read_text())
    for target in TARGETS[:scale]:
        home = pl.read_parquet(acs / f"p_{target}.parquet")
        home_id = upload(client, home)
        taught = states(acs, [name for name in TAUGHT if name != target], variables)
        model_id = model(client, taught, home_id, variables)
        job = succeed(client, {
            "method": "swaps", "dataset_id": home_id, "region_columns": ["PUMA"], "model_job_id": model_id,
            "drop": GIVEAWAYS, "search": {"method": "assignment"}, "learn_again": False,
        })  # fmt: skip
        result, published = job["result"], released(client, job)
        rules, masked = client.get(f"/v1/jobs/{model_id}/result").json()["rules"], result["masked_regions"]
        before, after = (signals(in_range(frame, variables), rules, variables) for frame in (home, published))
        assert len(list(exposed(before, masked))) > 20, "as it is, the bases stand out of most families"
        if target == TARGETS[0]:
            assert result["valid"]
        if result["valid"]:
            assert as_random(after, masked) >= 0.01, "places at random are as often among the highest"
            assert max(map(abs, deviations(after, masked))) < 2.75, "2.5, and what random places leave uncertain"

        assert result["valid"] == (not result["findings"])
        assert result["distortion_ratio"] == pytest.approx(result["distortion"] / result["members_distortion"])

        audit = {
            "method": "group_profile", "model_job_id": model_id, "release_ids": [job["release_id"]],
            "masked_regions": [result["regions"][place] for place in masked],
        }  # fmt: skip
        seen = succeed(client, audit, kind="audits")["result"]
        assert seen["passed"] == result["valid"]
        unused = model(client, states(acs, [name for name in UNUSED if name != target], variables), home_id, variables)
        theirs = client.get(f"/v1/jobs/{unused}/result").json()["rules"]
        strange = [signals(in_range(frame, variables), theirs, variables) for frame in (home, published)]
        figures(
            state=float(target), masked=len(masked), places=len(result["region_sizes"]), valid=float(result["valid"]),
            exposed_before=len(list(exposed(before, masked))), exposed_after=len(list(exposed(after, masked))),
            most_deviations=max(map(abs, deviations(after, masked))),
            distortion_ratio=result["distortion_ratio"],
            unused_rules_exposed_before=len(list(exposed(strange[0], masked))),
            unused_rules_exposed_after=len(list(exposed(strange[1], masked))),
        )  # fmt: skip
