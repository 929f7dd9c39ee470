"""The embedded store: SQLite through apsw, several worker processes on one file."""

from nephila.frontier.sqlite.catalog import SqliteCatalog
from nephila.frontier.sqlite.connection import SqliteDatabase
from nephila.frontier.sqlite.frontier import SqliteFrontier
from nephila.frontier.sqlite.upkeep import SqliteUpkeep

__all__ = ["SqliteCatalog", "SqliteDatabase", "SqliteFrontier", "SqliteUpkeep"]
