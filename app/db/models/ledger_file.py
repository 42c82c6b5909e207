"""What composing needs of a release, written with it: bounds, counts, scales, classes of kept columns."""

from sqlalchemy import BigInteger, Boolean, Column, Table, Text, text

from app.db.models.metadata import metadata

ledger_file = Table(
    "ledger_file",
    metadata,
    Column("release_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column(
        "persons_key", Text, comment="storage key of the fingerprints of its records and where each was; restricted"
    ),
    Column("persons_bytes", BigInteger),
    Column("persons_under", Text, comment="name of the secret that the fingerprints are keyed by"),
    Column("kept", Boolean, nullable=False, server_default=text("false"), comment="it was published"),
)
