"""Named SQL statements from .sql files: they can be read, grepped and EXPLAINed without Python."""

from functools import cache
from importlib.resources import files


@cache
def named_statements(package: str, *path: str) -> dict[str, str]:
    """The statements of a .sql file in `package`, by the name above each."""
    text = files(package).joinpath(*path).read_text()
    found: dict[str, str] = {}
    for part in text.split("-- name: ")[1:]:
        head, _, body = part.partition("\n")
        sql = "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
        found[head.split()[0]] = sql.rstrip(";")
    return found
