"""The pages of a Parquet file, unpacked: their headers are read as Thrift's compact protocol writes them."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_DATA_PAGE_V2 = 3


def chunks_of(file: pq.ParquetFile) -> list[Any]:
    """Metadata of all its chunks of columns."""
    about = file.metadata
    return [
        about.row_group(group).column(column)
        for group in range(about.num_row_groups)
        for column in range(about.num_columns)
    ]


def pages(content: bytes, chunk: Any) -> Iterator[bytes]:
    """The pages of one chunk, that of its dictionary among them."""
    first = min(each for each in (chunk.data_page_offset, chunk.dictionary_page_offset) if each)
    place, end = first, first + chunk.total_compressed_size
    while place < end:
        header = _Header(content, place)
        fields = header.struct()
        place = header.place + fields[3]
        yield _unpacked(content[header.place : place], fields, chunk.compression)


def _unpacked(body: bytes, fields: dict[int, Any], codec: str) -> bytes:
    """A page has its type, its size, its packed size (1, 2, 3); one of version 2 (8) has its levels unpacked before."""
    if codec == "UNCOMPRESSED":
        return body
    levels = fields[8][5] + fields[8][6] if fields[1] == _DATA_PAGE_V2 else 0
    if fields[1] == _DATA_PAGE_V2 and fields[8].get(7) is False:
        return body
    values = pa.decompress(body[levels:], fields[2] - levels, codec=codec.lower(), asbytes=True)
    return body[:levels] + bytes(values)


class _Header:
    """A structure that begins at a place; `place` is behind what has been read."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content, self.place = content, place

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        name = 0
        while (head := self._byte()) != 0:
            name = name + (head >> 4) if head >> 4 else self._whole()
            fields[name] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self._whole()
        if kind in (3, 7):
            return self._bytes(1 if kind == 3 else 8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(size)]
        assert kind == 12, f"no page header has the type {kind}"
        return self.struct()

    def _byte(self) -> int:
        self.place += 1
        return self._content[self.place - 1]

    def _bytes(self, size: int) -> bytes:
        self.place += size
        return self._content[self.place - size : self.place]

    def _unsigned(self) -> int:
        number, shift = 0, 0
        while True:
            part = self._byte()
            number |= (part & 127) << shift
            shift += 7
            if part < 128:
                return number

    def _whole(self) -> int:
        """Zigzag."""
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)
