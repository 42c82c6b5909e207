"""The one MetaData, with names for every constraint, so that migrations can speak of them; and the type of ids."""

from typing import Any

from sqlalchemy import MetaData, Text
from sqlalchemy.types import TypeDecorator


class Id(TypeDecorator[str]):
    """An id as a client may send it. One with a NUL, which Postgres refuses in any text, is no id: it finds nothing."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:  # noqa: ARG002 (as SQLAlchemy calls it)
        """An id that no row has, for one that no row can have."""
        return "" if value is not None and "\x00" in value else value


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
