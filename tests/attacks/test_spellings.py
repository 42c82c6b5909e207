"""A text is the same in every normal form, and spellings of one word are one value to whom wants to learn it.

Tables and requests write each text in a normal form drawn for it; what is counted is compared with the texts as they
were drawn. Values of a sensitive column are spelled at random; what boxes show of it is counted by the words.
"""

import io
import json
import unicodedata
from collections import Counter
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import Question
from tests.attacks.certified import Bundle
from tests.drawing import seeds
from tests.methods.asking import ended, succeed

NAMES = ["José", "Ana", "Åsa", "Zoë", "Việt", "한글", "ñandú é", "e"]
#: Characters that look like a letter of Latin, written down by hand.
LIKE = {
    "H": "\u041d\u0397", "I": "l\u0406\u0399", "V": "\u2164\u0474", "f": "\uff46", "o": "\u043e\u03bf", "a": "\u0430",
    "e": "\u0435", "i": "\u0456", "c": "\u0441", "r": "\uff52", "s": "\u0455", "n": "\U0001d427",
}  # fmt: skip
WORDS = ["HIV", "flu", "cancer", "sífilis", "none"]


def written(draw: np.random.Generator, value: Any) -> Any:
    """The same, each text in a normal form of its own, or each of its characters."""
    if isinstance(value, str):
        form = draw.choice(["NFC", "NFD", "mixed"])
        if form != "mixed":
            return unicodedata.normalize(form, value)
        return "".join(unicodedata.normalize(draw.choice(["NFC", "NFD"]), each) for each in value)
    if isinstance(value, dict):
        return {written(draw, name): written(draw, one) for name, one in value.items()}
    return [written(draw, one) for one in value] if isinstance(value, list) else value


def sent(client: httpx.Client, draw: np.random.Generator, frame: pl.DataFrame) -> dict[str, Any]:
    """A table uploaded in a format drawn for it."""
    kind, buffer = str(draw.choice(["csv", "ndjson", "parquet"])), io.BytesIO()
    {"csv": frame.write_csv, "ndjson": frame.write_ndjson, "parquet": frame.write_parquet}[kind](buffer)
    media = {"csv": "text/csv", "ndjson": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}[kind]
    answer = client.post(
        "/v1/datasets", params={"new_family": True, "trim": False} if kind == "csv" else {"new_family": True},
        content=buffer.getvalue(), headers={"Content-Type": media},
    )  # fmt: skip
    assert answer.status_code == httpx.codes.CREATED, answer.text
    dataset: dict[str, Any] = answer.json()
    return dataset


def posted(client: httpx.Client, path: str, body: Any) -> Any:
    """The answer to a body whose texts are sent as they are written."""
    headers = {"Content-Type": "application/json"}
    answer = client.post(path, content=json.dumps(body, ensure_ascii=False).encode(), headers=headers)
    assert answer.is_success, answer.text
    return answer.json()


@pytest.mark.parametrize("seed", seeds(4))
def test_texts_are_the_same_in_every_normal_form(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(80, 200))
    names, places = (draw.choice(NAMES, rows).tolist() for _ in range(2))
    frame = pl.DataFrame({
        written(draw, "prénom"): [written(draw, one) for one in names], "âge": draw.integers(18, 80, rows),
        written(draw, "lieü"): [written(draw, one) for one in places],
    })  # fmt: skip
    dataset = sent(client, draw, frame)
    assert [one["name"] for one in dataset["columns"]] == ["prénom", "âge", "lieü"]
    assert dataset["columns"][0]["distinct"] == len(set(names))
    hierarchy = {"rows": [[one, "é-" + one[0], "tous"] for one in NAMES]}
    declared = draw.choice(["nothing", "values", "hierarchy"])
    nominal = {"nothing": {}, "values": {"values": NAMES}, "hierarchy": {"hierarchy": hierarchy}}[str(declared)]
    spec = {
        "method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["prénom", "âge"], "k": 3,
        "publish": "auto",
        "keep": ["lieü"], "nominal": {"prénom": nominal} if nominal else {},
        "statistics": [{"kind": "share", "of": ["lieü"], "values": [places[0]]}],
    }  # fmt: skip
    job = ended(client, posted(client, "/v1/anonymizations", written(draw, spec)))
    assert job["state"] == "succeeded", job["error"]
    result = client.get(f"/v1/jobs/{job['id']}/result").json()
    release = f"/v1/releases/{job['release_id']}"
    share = places.count(places[0]) / rows
    assert result["statistics"][0]["guaranteed"] == pytest.approx([share, share])
    queries: list[dict[str, Any]] = [{"prénom": {"values": [one]}} for one in sorted(set(names))]
    queries += [{"lieü": {"values": [one]}} for one in sorted(set(places))]
    counts = posted(client, f"{release}/count", {"queries": [written(draw, one) for one in queries]})["counts"]
    for query, count in zip(queries, counts, strict=True):
        (column, restriction), (low, high) = next(iter(query.items())), count["guaranteed"]
        truth = (names if column == "prénom" else places).count(restriction["values"][0])
        assert low <= truth <= high
        assert (low, high) == (truth, truth) or column == "prénom"
        assert high > 0
    questions = [{"kind": "share", "of": ["lieü"], "values": [one]} for one in sorted(set(places))]
    answers = posted(client, f"{release}/statistics", written(draw, {"statistics": questions}))["statistics"]
    data = pl.read_parquet(io.BytesIO(client.get(f"{release}/data", params={"format": "parquet"}).content))
    for question, answer in zip(questions, answers, strict=True):
        (place,) = question["values"]
        truth = places.count(place) / rows
        assert answer["guaranteed"] == pytest.approx([truth, truth])
        (offline,) = certify(data, [written(draw, f"share(lieü={place})")])
        assert offline["guaranteed"] == pytest.approx([truth, truth])


def spelled(draw: np.random.Generator, word: str) -> str:
    """One of the spellings of a word."""
    text = str(draw.choice([word, word, word.upper(), word.lower(), word.title(), unicodedata.normalize("NFD", word)]))
    if draw.random() < 0.3:
        place = int(draw.integers(0, len(text) + 1))
        text = text[:place] + str(draw.choice([" ", "\u00a0", "\u200b", "\t "])) + text[place:]
    if draw.random() < 0.3:
        place = int(draw.integers(0, len(text)))
        text = text[:place] + str(draw.choice([*LIKE.get(text[place], text[place])])) + text[place + 1 :]
    return text


def exposed(rows: pl.DataFrame, word_of: dict[str, str]) -> tuple[int, float]:
    """The fewest words that a box has, and the largest share of one among the rows of a box that have one."""
    fewest, largest = len(WORDS), 0.0
    for _, box in rows.group_by("box"):
        words = Counter(word_of[unicodedata.normalize("NFC", one)] for one in box["ill"].drop_nulls())
        fewest = min(fewest, len(words))
        largest = max(largest, max(words.values(), default=0) / max(words.total(), 1))
    return fewest, largest


@pytest.mark.parametrize("seed", seeds(4))
def test_spellings_are_one_value_and_a_missing_one_hides_nobody(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, several = int(draw.integers(150, 300)), int(draw.integers(3, len(WORDS) + 1))
    words = [str(one) for one in draw.choice(WORDS[:several], rows, p=draw.dirichlet(np.full(several, 4.0)))]
    values = [None if draw.random() < 0.3 else spelled(draw, one) for one in words]
    word_of = {unicodedata.normalize("NFC", one): word for one, word in zip(values, words, strict=True) if one}
    buffer = io.BytesIO()
    pl.DataFrame({"x": draw.normal(0, 1, rows).round(3), "ill": values}).write_parquet(buffer)
    answer = client.post(
        "/v1/datasets", params={"new_family": True}, content=buffer.getvalue(),
        headers={"Content-Type": "application/vnd.apache.parquet"},
    )  # fmt: skip
    demands: dict[str, Any] = {"alpha": float(draw.choice([0.7, 0.8]))} | ({"l": 2} if draw.random() < 0.5 else {})
    spec = {
        "method": "boxes", "dataset_id": answer.json()["id"], "quasi_identifiers": ["x"], "k": 4, "keep": ["ill"],
        "sensitive": ["ill"], "statistics": [{"kind": "mean", "of": ["x"]}], **demands,
    }  # fmt: skip
    release = succeed(client, spec)["release_id"]
    published = client.post(f"/v1/releases/{release}/publish", json={"accept_findings": ["kept_columns"]})
    assert published.is_success, "spellings are rare, and so a finding"
    bundle = Bundle(client, str(release))
    released = pl.read_parquet(io.BytesIO(bundle.files["release.parquet"]))
    least, largest = exposed(released, word_of)
    assert released["box"].n_unique() > 1
    assert least >= demands.get("l", 0)
    assert largest <= demands["alpha"] + 1e-9
    assert bundle.report(bundle.body).exit_code == 0
    audit = succeed(
        client, {"method": "table", "release_id": bundle.body["predicate"]["release"]["id"], "sensitive": ["ill"],
                 "quasi_identifiers": ["x"]}, kind="audits",
    )["result"]  # fmt: skip
    assert audit["l_diversity"]["distinct"] == least
    assert audit["alpha"] == pytest.approx(largest)
    parameters = bundle.body["predicate"]["parameters"]
    parameters |= {"l": least + 1, "alpha": largest * 0.99}
    problems = bundle.report(bundle.body).problems
    assert any(one.startswith("l: ") or ": l: " in one for one in problems)
    assert any("alpha: " in one for one in problems)
    column = answer.json()["columns"][1]
    assert column["other_spellings"] == len(word_of) - len(set(word_of.values()))
    assert any(one["code"] == "other_spellings" for one in answer.json()["warnings"])


@pytest.mark.parametrize("seed", seeds(4))
def test_another_spelling_is_no_certain_zero(client: httpx.Client, seed: int) -> None:
    """A range contains those who have the word, or the question is refused by a value that the release shows."""
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(60, 200))
    words = [str(one) for one in draw.choice([*WORDS, "rare"], rows, p=[0.3, 0.25, 0.2, 0.13, 0.1, 0.02])]
    frame = pl.DataFrame({"ill": words, "kept": words, "age": draw.integers(18, 80, rows)})
    dataset = sent(client, draw, frame)
    spec = {
        "method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["ill", "age"], "k": 4, "keep": ["kept"],
        "statistics": [{"kind": "mean", "of": ["age"]}],
    }  # fmt: skip
    job = succeed(client, spec)
    data = client.get(f"/v1/releases/{job['release_id']}/data", params={"format": "parquet"}).content
    table = pl.read_parquet(io.BytesIO(data))
    released = words if table.height == rows else [word for word in words if word != "rare"]
    assert len(released) == table.height
    refused = 0
    for _ in range(30):
        word, column = str(draw.choice(words)), str(draw.choice(["ill", "kept"]))
        name = spelled(draw, word)
        answer = client.post(
            f"/v1/releases/{job['release_id']}/count", json={"queries": [{column: {"values": [name]}}]}
        )
        share = {"kind": "share", "of": [column], "values": [name]}
        other = client.post(f"/v1/releases/{job['release_id']}/statistics", json={"statistics": [share]})
        assert answer.status_code == other.status_code
        shown = set(table[column]) if column == "kept" else {one for each in table["ill_set"] for one in each}
        if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
            refused += 1
            assert unicodedata.normalize("NFC", name) != word
            assert repr(word) in answer.json()["detail"]
            assert word in shown, "what a refusal names is released"
            with pytest.raises(UnreadableError, match="is shown"):
                certify(table, [Question("share", (column,), values=(name,))])
            continue
        low, high = answer.json()["counts"][0]["guaranteed"]
        assert low <= released.count(word) <= high
        first, last = other.json()["statistics"][0]["guaranteed"]
        assert first - 1e-9 <= released.count(word) / len(released) <= last + 1e-9
    assert refused


def test_spellings_of_persons_are_asked_about(client: httpx.Client) -> None:
    draw = np.random.default_rng(3)
    persons = [spelled(draw, str(draw.choice(WORDS))) for _ in range(300)]
    buffer = io.BytesIO()
    pl.DataFrame({"x": draw.normal(0, 1, 300), "who": persons}).write_parquet(buffer)
    media = {"Content-Type": "application/vnd.apache.parquet"}
    dataset = client.post("/v1/datasets", content=buffer.getvalue(), headers=media).json()
    spellings = len({unicodedata.normalize("NFC", one) for one in persons})
    (warning,) = [one for one in dataset["warnings"] if one["code"] == "other_spellings"]
    assert f"{spellings - len(WORDS)} of the {spellings} values of column 2 ('who')" in warning["detail"]
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x"], "k": 3, "person_column": "who"}
    job = succeed(client, spec)
    (of_job,) = [one for one in job["warnings"] if one["code"] == "other_spellings"]
    assert of_job["pointer"] == "/spec/person_column"
