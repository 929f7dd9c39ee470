"""Named statements, and what is built from them."""

import re

import apsw
import pytest
from apsw.ext import QueryPlan, query_info

from nephila.frontier.rows import COMMON
from nephila.frontier.sqlite.connection import ROWS_PER_STATEMENT
from nephila.frontier.sqlite.inserter import write_many
from nephila.frontier.statements import SHARED, migrations, repeated, shared_statements, statements
from nephila.models import STATE_CODES, STATES_BY_CODE, UrlState
from tests.architecture.sources import SRC

SQL_FOLDER = SRC / "frontier" / "sql"

FILES = ("worker", "session", "checks", *SHARED)
LISTED = {"url_columns": " u.id = 1"}  # how a piece becomes a statement
PARAMETERS = {"sqlite": re.compile(r"(?<!:):(\w+)"), "postgres": re.compile(r"%\((\w+)\)s")}
LINKS = {"linked", "linked_ids"}  # their ranges are one parameter of SQLite and three of PostgreSQL


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
    named = statements("sqlite", file)
    sql = named[name] + LISTED.get(name, "")
    if name.startswith("where_"):
        sql = f"{named['url_columns']} {sql}".replace("/* ids */", named["urls_of_crawl"])
    for part in sql.split(";"):
        assert plan_of(db, part) is not None


@pytest.mark.parametrize(
    "name", sorted(shared_statements("sqlite").keys() & shared_statements("postgres").keys() - LINKS)
)
def test_a_statement_of_both_databases_takes_the_same_parameters(name: str) -> None:
    """But for the clock, which only leases are compared with."""
    sqlite, postgres = (set(found.findall(shared_statements(kind)[name])) for kind, found in PARAMETERS.items())
    assert sqlite <= postgres
    assert postgres - sqlite <= {"now"}


def test_states_in_sql_are_those_of_the_table() -> None:
    """Literals stand where a partial index wants them: for the open state, and for what urls_ended leaves out."""
    text = "".join(path.read_text() for path in SQL_FOLDER.rglob("*.sql"))
    literals = set(re.findall(r"\bstate\s*(=|<>|>|<|IN)\s*(\(?\d+)", text))
    assert literals == {("=", str(STATE_CODES[UrlState.QUEUED])), (">", "1")}
    assert {code for code in STATES_BY_CODE if code <= 1} == {STATE_CODES[state] for state in COMMON & set(STATE_CODES)}


def plan_of(db: apsw.Connection, sql: str) -> list[str]:
    plan = query_info(db, sql, explain_query_plan=True).query_plan
    return [step.detail for step in _steps(plan)] if plan else []


def _steps(plan: QueryPlan) -> list[QueryPlan]:
    return [plan, *(step for sub in plan.sub or [] for step in _steps(sub))]


# Statements of the flush that touch tables which grow with the crawl: each must find its rows by an index.
SCANNED = re.compile(r"SCAN (urls|pages|queues|hosts|robots|arrivals|grants)\b")
HOT = [
    *("end_urls", "has_page", "find_queues", "known", "wake_queues", "insert_arrivals", "retry_url", "end_rows"),
    *("release_queues", "take_arrivals", "due_queues", "ending_queues", "hold_queues", "rest_queues", "windows"),
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
