"""Every table: who needs `metadata` whole (migrations, copying, what walks all rows) imports it from here."""

from app.db.tables import access, datasets, jobs, releases, storage
from app.db.tables.metadata import metadata

__all__ = ["access", "datasets", "jobs", "metadata", "releases", "storage"]
