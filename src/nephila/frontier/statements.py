"""The statements and the schema of the stores, from their .sql files."""

from functools import cache
from importlib.resources import files

from nephila.statements import named_statements


def statements(database: str, file: str) -> dict[str, str]:
    """The statements of sql/<database>/<file>.sql by the name that stands above each."""
    return named_statements("nephila.frontier", "sql", database, f"{file}.sql")


@cache
def repeated(sql: str, rows: int) -> str:
    """A statement whose VALUES row stands `rows` times: the flush thread hands the GIL over once for many rows."""
    start = sql.index("VALUES (") + len("VALUES ")
    end = sql.index(")", start) + 1
    return sql[:start] + ",".join([sql[start:end]] * rows) + sql[end:]


def migrations(database: str) -> list[str]:
    """The numbered schema files, in order; their count is the schema's version."""
    folder = files("nephila.frontier").joinpath("sql", database)
    return [
        entry.read_text()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name[:4].isdigit()
    ]
