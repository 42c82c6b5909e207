from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete

from app.db.digests import DatabaseDigests
from app.db.session import Database
from app.db.tables.storage import stored_object
from app.settings import Settings
from app.storage.digested import DigestedStorage
from app.storage.factory import open_storage
from app.storage.protocol import Storage
from app.storage.sealed import SealedStorage, StorageKeys
from tests.s3 import S3Server
from tests.servers import Databases


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3") / "s3.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def local_storage(tmp_path: Path) -> Storage:
    return open_storage(Settings(storage_url=f"file:{tmp_path}/store"))


@pytest.fixture
def s3_storage(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    url = f"s3://{s3_server.bucket}/{tmp_path.name}"
    return open_storage(Settings(storage_url=url, s3_endpoint=s3_server.endpoint, s3_allow_http=True))


@pytest.fixture
def local_sealed_storage(local_storage: Storage) -> Storage:
    return SealedStorage(local_storage, StorageKeys("k" * 32))


@pytest.fixture
def s3_sealed_storage(s3_storage: Storage) -> Storage:
    return SealedStorage(s3_storage, StorageKeys("k" * 32))


@pytest.fixture(scope="session")
def digests_database(databases: Databases) -> Iterator[Database]:
    url = databases.fresh()
    database = Database(url, pool_size=4)
    yield database
    database.close()
    databases.drop(url)


@pytest.fixture
def digests(digests_database: Database) -> DatabaseDigests:
    """Digests that begin with none: storages of two tests have objects of the same keys."""
    with digests_database.unit_of_work() as unit:
        unit.connection.execute(delete(stored_object))
    return DatabaseDigests(digests_database)


@pytest.fixture
def local_digested_storage(local_storage: Storage, digests: DatabaseDigests) -> Storage:
    return DigestedStorage(local_storage, digests)


@pytest.fixture
def s3_digested_storage(s3_storage: Storage, digests: DatabaseDigests) -> Storage:
    return DigestedStorage(s3_storage, digests)


@pytest.fixture
def local_sealed_digested_storage(local_sealed_storage: Storage, digests: DatabaseDigests) -> Storage:
    return DigestedStorage(local_sealed_storage, digests)


@pytest.fixture(params=["local", "s3", "local_sealed", "s3_sealed", "local_digested", "s3_digested"])
def storage(request: pytest.FixtureRequest) -> Storage:
    backend = request.getfixturevalue(f"{request.param}_storage")
    assert not list(backend.list("staging/"))
    return backend  # type: ignore[no-any-return]
