"""Datasets and releases are named and labelled after they were made; nothing else of them changes."""

from typing import Any

import pytest

from tests.jobs.many import published
from tests.jobs.service import Service


def both(service: Service) -> list[str]:
    dataset_id = service.dataset()
    release_id = published(service, dataset_id)[1]
    return [f"/v1/datasets/{dataset_id}", f"/v1/releases/{release_id}"]


def test_name_and_labels_are_changed_and_what_is_left_out_stays(shared: Service) -> None:
    with shared.client() as client:
        for url in both(shared):
            before = client.get(url).json()
            named = client.patch(url, json={"name": " people of Oslo "})
            assert (named.status_code, named.json()) == (200, before | {"name": "people of Oslo"})
            client.patch(url, json={"tags": {"year": "2026", "for": "test"}})
            labelled = client.patch(url, json={"tags": {"year": "2027"}}).json()
            assert labelled == before | {"name": "people of Oslo", "tags": {"year": "2027"}}
            assert client.patch(url, json={}).json() == labelled == client.get(url).json()
            listed = client.get(url.rpartition("/")[0], params={"tag": "year:2027"}).json()["items"]
            assert [one["id"] for one in listed] == [before["id"]]


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "  "}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"name": "a\x00b"}, "/name"),
        ({"name": None}, "/name"),
        ({"tags": None}, "/tags"),
        ({"tags": {"a": 1}}, "/tags/a"),
        ({"rows": 1}, "/rows"),
        ({"id": "ds_other"}, "/id"),
    ],
)
def test_anything_else_is_refused_at_its_pointer(shared: Service, sent: dict[str, Any], pointer: str) -> None:
    with shared.client() as client:
        for url in both(shared):
            before = client.get(url).json()
            refused = client.patch(url, json=sent)
            assert refused.status_code == 422, refused.text
            assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
            assert client.get(url).json() == before


def test_what_was_deleted_is_not_named(shared: Service) -> None:
    with shared.client() as client:
        for url in reversed(both(shared)):
            assert client.delete(url).status_code == 204
            for sent in ({"name": "x"}, {}):
                assert client.patch(url, json=sent).status_code == 404
