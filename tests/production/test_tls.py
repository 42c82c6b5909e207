"""TLS to Postgres, the broker and S3, by docs/operate/hardening.md: by addresses, and refused where it is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.embedded.broker import BrokerServer
from app.embedded.postgres import PostgresServer
from tests import patient
from tests.embedded.test_cli import assert_one_line, surebox
from tests.methods.asking import succeed, upload
from tests.processes import SECRET, processes
from tests.s3 import S3Server
from tests.servers import Databases, new_broker, new_postgres, short_folder
from tests.tls import Authority, Terminator, terminating

CSV = "age,wage\n" + "".join(f"{20 + row % 50},{1000 + 37 * row % 991}\n" for row in range(200))


@dataclass(frozen=True)
class Secured:
    """Three servers behind TLS."""

    postgres: PostgresServer
    broker: BrokerServer
    s3: S3Server
    database_url: str
    authority: Authority
    other: Authority
    before_postgres: Terminator
    before_broker: Terminator
    before_s3: Terminator

    def settings(
        self,
        *,
        host: str = "localhost",
        database: Path | None = None,
        broker: Path | None = None,
        s3: Path | None = None,
        hosts: tuple[str, ...] = ("database", "broker", "s3"),
    ) -> dict[str, str]:
        """Addresses with TLS: by the right name and authority, but for those of `hosts` that are named otherwise."""
        at = {name: host if name in hosts else "localhost" for name in ("database", "broker", "s3")}
        postgres, valkey = self.postgres.password, self.broker.password
        name = self.database_url.rpartition("/")[2]
        return {
            "DATABASE_URL": f"postgresql://surebox:{postgres}@{at['database']}:{self.before_postgres.port}/{name}"
            f"?sslmode=verify-full&sslrootcert={database or self.authority.file}",
            "REDIS_URL": f"rediss://:{valkey}@{at['broker']}:{self.before_broker.port}/0"
            f"?ssl_ca_certs={broker or self.authority.file}",
            "STORAGE_URL": f"s3://{self.s3.bucket}/tls",
            "SUREBOX_S3_ENDPOINT": f"https://{at['s3']}:{self.before_s3.port}",
            "SUREBOX_S3_CA_FILE": str(s3 or self.authority.file),
            "SUREBOX_SERVER_SECRET": SECRET,
            **self.s3.environment,
        }


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    with short_folder() as place:
        postgres, broker, s3 = new_postgres(place, tcp=True), new_broker(place), S3Server(folder / "s3.log")
        authority, other = Authority(folder / "ours"), Authority(folder / "other")
        context = authority.context("localhost")
        try:
            postgres.start()
            broker.start()
            s3.start()
            assert postgres.port is not None
            assert broker.port is not None
            Databases(postgres).empty("secured")
            ends = (
                Terminator(context, to=postgres.port, postgres=True),
                Terminator(context, to=broker.port),
                Terminator(context, to=int(s3.endpoint.rsplit(":", 1)[1])),
            )
            with terminating(*ends):
                made = Secured(postgres, broker, s3, postgres.tcp_url("secured"), authority, other, *ends)
                done = surebox("migrate", **made.settings())
                assert done.returncode == 0, done.stderr
                yield made
        finally:
            s3.stop()
            broker.stop()
            postgres.stop()


def test_the_service_works_where_all_three_speak_tls(secured: Secured, tmp_path: Path) -> None:
    settings = secured.settings()
    database_url, redis_url = settings.pop("DATABASE_URL"), settings.pop("REDIS_URL")
    with processes(tmp_path, database_url=database_url, redis_url=redis_url, **settings) as started:
        address, _ = started.api()
        for queue in ("interactive", "batch"):
            started.worker(queue)
        started.start("housekeeping", log="housekeeping")
        started.wait_ready(address)
        with patient.Client(base_url=address, headers={"Authorization": f"Bearer {started.key()}"}) as client:
            dataset_id = upload(client, CSV)["id"]
            boxes = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age", "wage"], "k": 5}
            job = succeed(client, boxes)
            events = client.get(f"/v1/jobs/{job['id']}/events").text
            assert "succeeded" in events
            data = client.get(f"/v1/releases/{job['release_id']}/data", params={"format": "csv"})
            assert data.status_code == 200
        lost = [line for line in started.logs().splitlines() if any(event in line for event in LOST)]
        assert lost == []
    for each in (secured.before_postgres, secured.before_broker, secured.before_s3):
        assert each.sessions > 0


@pytest.mark.parametrize("server", ["database", "broker", "s3"])
def test_an_authority_that_has_not_signed_the_certificate_is_refused(secured: Secured, server: str) -> None:
    settings = secured.settings(**{server: secured.other.file})  # type: ignore[arg-type]
    assert_one_line(
        surebox("housekeeping", **settings), "has a certificate that no authority has signed", SERVERS[server]
    )


@pytest.mark.parametrize("server", ["database", "broker", "s3"])
def test_a_certificate_for_another_host_name_is_refused(secured: Secured, server: str) -> None:
    settings = secured.settings(host="127.0.0.1", hosts=(server,))
    assert_one_line(surebox("housekeeping", **settings), "certificate for another host name", SERVERS[server])


#: What is logged where a server is not reached.
LOST = ("rates.local", "notifications.lost", "enqueue.failed", "depth.failed")
SERVERS = {"database": "the database's server", "broker": "the broker's server", "s3": "the storage's server"}


def test_every_process_says_what_is_wrong_with_a_certificate(secured: Secured) -> None:
    wrong = secured.settings(database=secured.other.file)
    for command in (["migrate"], ["serve", "--port", "0"]):
        assert_one_line(surebox(*command, **wrong), "no authority has signed")


def test_a_database_without_tls_is_refused_where_the_address_asks_for_it(secured: Secured) -> None:
    plain = secured.database_url.replace("127.0.0.1", "localhost")
    settings = secured.settings() | {
        "DATABASE_URL": f"{plain}?sslmode=verify-full&sslrootcert={secured.authority.file}"
    }
    assert_one_line(surebox("housekeeping", **settings), "the database's server does not speak TLS")


def test_a_file_of_authorities_that_cannot_be_read_is_named(secured: Secured, tmp_path: Path) -> None:
    for server, words in [("database", "sslrootcert"), ("broker", "ssl_ca_certs"), ("s3", "SUREBOX_S3_CA_FILE")]:
        settings = secured.settings(**{server: tmp_path / "absent.pem"})  # type: ignore[arg-type]
        assert_one_line(surebox("housekeeping", **settings), words)
