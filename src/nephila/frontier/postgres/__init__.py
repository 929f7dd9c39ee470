"""The shared store: PostgreSQL through psycopg, any number of worker processes on any number of machines."""

from nephila.frontier.postgres.catalog import PostgresCatalog
from nephila.frontier.postgres.connection import PostgresDatabase
from nephila.frontier.postgres.frontier import PostgresFrontier
from nephila.frontier.postgres.upkeep import PostgresUpkeep

__all__ = ["PostgresCatalog", "PostgresDatabase", "PostgresFrontier", "PostgresUpkeep"]
