"""What an owner has decided for all keys."""

from sqlalchemy import Boolean, Column, Table, Text, text

from app.db.models.metadata import metadata

owner_setting = Table(
    "owner_setting",
    metadata,
    Column("owner", Text, primary_key=True),
    Column(
        "jobs_publish",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="jobs publish what they make, whoever asked for them",
    ),
)
