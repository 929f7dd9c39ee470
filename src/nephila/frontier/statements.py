"""Named SQL statements from .sql files: they can be read, grepped and EXPLAINed without Python."""

from functools import cache
from importlib.resources import files


@cache
def statements(database: str, file: str) -> dict[str, str]:
    """The statements of sql/<database>/<file>.sql by the name that stands above each."""
    text = files("nephila.frontier").joinpath("sql", database, f"{file}.sql").read_text()
    found: dict[str, str] = {}
    for part in text.split("-- name: ")[1:]:
        head, _, body = part.partition("\n")
        sql = "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
        found[head.split()[0]] = sql.rstrip(";")
    return found


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
