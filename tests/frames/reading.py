"""Reads bytes as an upload and gives back plain Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from app.contracts.datasets import Profile, ReadOptions
from workers.frames.upload.read import read_upload


def read(
    folder: Path,
    data: bytes,
    *,
    max_columns: int = 2_000,
    max_field_bytes: int = 100_000,
    max_bytes: int = 10**9,
    tick: Callable[[float], None] = lambda _: None,
    **options: Any,
) -> tuple[Profile, dict[str, list[Any]]]:
    """The profile and the columns of an upload; also checks what every reading must keep."""
    source, sink = folder / "upload", folder / "typed.parquet"
    source.write_bytes(data)
    try:
        profile = read_upload(
            source, ReadOptions(**options), sink, max_columns=max_columns, max_field_bytes=max_field_bytes,
            max_bytes=max_bytes, tick=tick,
        )  # fmt: skip
    except BaseException:
        assert not sink.exists()
        raise
    columns = pq.read_table(sink).to_pydict()
    assert [c.name for c in profile.columns] == list(columns)
    for column in profile.columns:
        values = columns[column.name]
        assert len(values) == profile.rows
        assert column.missing == values.count(None)
        assert column.distinct == len({v for v in values if v is not None})
    return profile, columns


def types(profile: Profile) -> dict[str, str]:
    """Column name to type."""
    return {column.name: column.type.value for column in profile.columns}
