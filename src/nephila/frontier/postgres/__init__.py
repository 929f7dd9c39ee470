"""The shared store: PostgreSQL through psycopg, any number of worker processes on any number of machines."""

from nephila.frontier.postgres.catalog import PostgresCatalog
from nephila.frontier.postgres.connection import Database
from nephila.frontier.postgres.frontier import PostgresFrontier
from nephila.frontier.postgres.rulebook import PostgresRulebook
from nephila.frontier.postgres.upkeep import PostgresUpkeep

__all__ = ["Database", "PostgresCatalog", "PostgresFrontier", "PostgresRulebook", "PostgresUpkeep"]
