"""What can be uploaded, as a body that is opened anew at every try: files by name or open, and data frames."""

import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

from surebox_client.errors import UploadError
from surebox_client.frames import parquet_of
from surebox_client.progress import Progress
from surebox_client.steps import Body

_CHUNK: Final = 1 << 18
_TYPES: Final = {
    "csv": "text/csv", "tsv": "text/tab-separated-values", "parquet": "application/vnd.apache.parquet",
    "ndjson": "application/x-ndjson", "jsonl": "application/x-ndjson",
}  # fmt: skip


class Upload:
    """A file or a frame on its way.

    Parameters
    ----------
    source : a path, a file that is open for reading bytes, or a frame of polars, pandas or pyarrow.
    index : the name under which a pandas index becomes a column.

    Attributes
    ----------
    body, name : of the request.
    orders : values of columns of ordered categories, lowest first: what the option `ordinal` takes.
    """

    def __init__(self, source: Any, progress: Progress, index: str | None = None) -> None:
        self.orders: dict[str, list[Any]] = {}
        self._progress = progress
        if isinstance(source, str | Path):
            self.name = Path(source).name
            self.body = self._of_path(Path(source))
        elif hasattr(source, "read"):
            self.name = Path(str(getattr(source, "name", "upload"))).name
            self.body = self._of_file(source)
        else:
            data, self.orders = parquet_of(source, index)
            self.name = "frame"
            self.body = self._body(lambda: io.BytesIO(data), "frame.parquet", size=len(data))

    def _of_path(self, path: Path) -> Body:
        if not path.is_file():
            raise UploadError(f"There is no file {str(path)!r}")
        return self._body(lambda: path.open("rb"), path.name, size=path.stat().st_size)

    def _of_file(self, file: IO[bytes]) -> Body:
        if isinstance(file.read(0), str):
            raise UploadError("The file is open for text. Open it with mode 'rb'.")
        if not (hasattr(file, "seekable") and file.seekable()):
            return self._body(lambda: file, self.name, size=None, again=False, ours=False)
        start = file.tell()
        size = file.seek(0, io.SEEK_END) - start

        def again() -> IO[bytes]:
            file.seek(start)
            return file

        return self._body(again, self.name, size=size, ours=False)

    def _body(
        self, opened: Callable[[], IO[bytes]], name: str, *, size: int | None, again: bool = True, ours: bool = True
    ) -> Body:
        def chunks() -> Iterator[bytes]:
            file, sent = opened(), 0
            try:
                while chunk := file.read(_CHUNK):
                    yield chunk
                    sent += len(chunk)
                    self._progress.update(sent / size if size else 0.0, f"upload of {self.name}")
                self._progress.end()
            finally:
                if ours:
                    file.close()

        return Body(chunks, _media_type(name), again, size)


def _media_type(name: str) -> str:
    stem, _, ending = name.lower().rpartition(".")
    if ending == "gz":
        return _media_type(stem) + "+gzip"
    return _TYPES.get(ending, "application/octet-stream")


def query(name: str, tags: Mapping[str, str], types: Mapping[str, str], reading: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an upload."""
    tag, kind = ([f"{one}:{two}" for one, two in each.items()] for each in (tags, types))
    return {"name": name, "tag": tag, "type": kind, **reading}
