"""Named statements, and what is built from them."""

import re

import apsw
import pytest
from apsw.ext import QueryPlan, query_info

from nephila.frontier.sqlite.connection import ROWS_PER_STATEMENT
from nephila.frontier.sqlite.inserter import write_many
from nephila.frontier.statements import migrations, repeated, statements

FILES = ("worker", "session", "upkeep", "catalog", "rulebook")
FRAGMENTS = {"url_columns": " u.id = 1", "queue_columns": " q.id = 1"}


@pytest.fixture
def db() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    for step in migrations("sqlite"):
        connection.execute(step).fetchall()
    return connection


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file in FILES for name in statements("sqlite", file)], ids=lambda part: part
)
def test_every_statement_compiles(db: apsw.Connection, file: str, name: str) -> None:
    sql = statements("sqlite", file)[name]
    for part in (sql + FRAGMENTS.get(name, "")).split(";"):
        assert plan_of(db, part) is not None


def plan_of(db: apsw.Connection, sql: str) -> list[str]:
    plan = query_info(db, sql, explain_query_plan=True).query_plan
    return [step.detail for step in _steps(plan)] if plan else []


def _steps(plan: QueryPlan) -> list[QueryPlan]:
    return [plan, *(step for sub in plan.sub or [] for step in _steps(sub))]


# Statements of the flush that touch tables which grow with the crawl: each must find its rows by an index.
SCANNED = re.compile(r"SCAN (urls|pages|queues|hosts|robots|arrivals|grants)\b")
HOT = [
    *("end_urls", "has_page", "find_queues", "is_known", "wake_queues", "insert_arrivals", "retry_url", "end_rows"),
    *("release_queues", "take_arrivals", "due_queues", "ending_queues", "hold_queues", "rest_queue", "windows"),
    *("hosts", "robots_of_hosts", "next_due", "free_lost", "use_grant"),
]


@pytest.mark.parametrize("name", HOT)
def test_nothing_in_a_flush_scans_or_sorts(db: apsw.Connection, name: str) -> None:
    plan = plan_of(db, statements("sqlite", "worker")[name])
    assert plan
    assert not [line for line in plan if "TEMP B-TREE" in line]
    assert not [line for line in plan if SCANNED.match(line)]


def test_a_values_row_is_repeated() -> None:
    assert repeated("INSERT INTO t VALUES (?,?) ON CONFLICT DO NOTHING", 3) == (
        "INSERT INTO t VALUES (?,?),(?,?),(?,?) ON CONFLICT DO NOTHING"
    )


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 127, 128, 200])
def test_many_rows_go_in_whatever_their_number(count: int) -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE t(a PRIMARY KEY, b)")
    rows = [(number, -number) for number in range(count)]
    assert write_many(db, "INSERT INTO t VALUES (?,?) ON CONFLICT DO NOTHING", rows) == count
    assert write_many(db, "INSERT INTO t VALUES (?,?) ON CONFLICT DO NOTHING", rows) == 0
    assert db.execute("SELECT a, b FROM t ORDER BY a").fetchall() == rows


def test_the_rows_of_a_statement_are_a_power_of_two() -> None:
    assert ROWS_PER_STATEMENT & (ROWS_PER_STATEMENT - 1) == 0
