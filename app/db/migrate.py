"""Running the migrations, from anywhere: the scripts are part of the distribution."""

from importlib.resources import files

from alembic import command
from alembic.config import Config


def config(database_url: str) -> Config:
    """Alembic's configuration, without a file."""
    made = Config()
    made.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    made.attributes["database_url"] = database_url
    return made


def upgrade(database_url: str, *, revision: str = "head") -> None:
    """Bring the database to the newest revision, or a named one; safe to call from several processes at once."""
    command.upgrade(config(database_url), revision)


def check(database_url: str) -> None:
    """Raise when the models and the migrated database differ."""
    command.check(config(database_url))
