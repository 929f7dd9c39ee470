"""The statements and the schema of the stores, from their .sql files."""

import re
from functools import cache
from importlib.resources import files

from nephila.frontier.columns import LISTS
from nephila.statements import named_statements

SHARED = ("catalog", "rulebook", "tokens", "upkeep")

_column_list = re.compile(r"\{(\w+)(?:: ([^}]+))?\}")


@cache
def statements(database: str, file: str) -> dict[str, str]:
    """The statements of sql/<database>/<file>.sql by the name that stands above each, with their lists of columns."""
    found = named_statements("nephila.frontier", "sql", database, f"{file}.sql")
    return {name: _column_list.sub(_names, sql) for name, sql in found.items()}


def _names(found: re.Match[str]) -> str:
    """Of `{hosts}` the columns in LISTS["hosts"], of `{hosts: h.*}` each of them in the place of the asterisk."""
    each = found[2] or "*"
    return ", ".join(each.replace("*", column.name) for column in LISTS[found[1]])


def shared_statements(database: str) -> dict[str, str]:
    """The statements that run by name through `Tables`: of most names both databases have one."""
    return {name: sql for file in SHARED for name, sql in statements(database, file).items()}


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
