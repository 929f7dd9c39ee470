"""Columns have names once: lists, records and schemas agree, and the places that name a column are counted."""

import re
from dataclasses import fields
from pathlib import Path

import apsw
import pytest

import nephila.frontier
from nephila.frontier.columns import (
    ERRORS,
    HOSTS,
    LISTS,
    PACE,
    PAGES,
    ROBOTS,
    ROWS,
    TIMING,
    URLS,
    Column,
    error_values,
    host_clock,
    host_values,
    page_values,
    robots_record,
    robots_values,
)
from nephila.frontier.records import HostSort
from nephila.frontier.statements import migrations, statements
from nephila.frontier.store import ErrorNote, HostClock, RobotsRecord, Row
from nephila.models import ArchivePlace, Child, PageRecord, Timing
from nephila.policy.politeness import Pace

STORE = Path(nephila.frontier.__file__).parent
SCHEMAS = {"sql/postgres/0001.sql", "sql/sqlite/0001.sql"}


def names(record: type) -> list[str]:
    return [field.name for field in fields(record)]


def attributes(columns: tuple[Column, ...]) -> list[str]:
    return [column.attribute for column in columns]


def places(name: str) -> list[str]:
    """The file of each line of the store's code that names a column."""
    word = re.compile(rf"\b{name}\b")
    found = (path for kind in ("*.py", "*.sql") for path in STORE.rglob(kind))
    lines = ((path, line) for path in found for line in path.read_text().splitlines())
    return sorted(path.relative_to(STORE).as_posix() for path, line in lines if word.search(line))


# --- the number of places


# `errors` is also a table, `latency_ms` is also what a listing shows of a page.
@pytest.mark.parametrize("field", sorted(set(names(Pace)) - {"errors", "latency_ms"}))
def test_a_field_of_the_pace_has_four_places(field: str) -> None:
    """Pace itself, its column, and the schema of each database; one more where hosts are sorted by it."""
    assert places(field) == sorted({"columns.py", *SCHEMAS, *(["records.py"] if field in [*HostSort] else [])})


# `total_ms` is also what a listing shows as the latency.
@pytest.mark.parametrize("field", [*sorted(set(names(Timing)) - {"total_ms"}), "charset", "protocol", "truncated"])
def test_a_field_of_a_page_has_four_places(field: str) -> None:
    """PageRecord itself, its column, and the schema of each database."""
    assert places(field) == sorted({"columns.py", *SCHEMAS})


def test_a_field_of_a_child_that_comes_back_with_its_row_has_six_places() -> None:
    """Child and Row themselves (Row is in store.py), their columns, and the schema of each database."""
    assert places("hops") == sorted(["columns.py", "columns.py", "store.py", *SCHEMAS])


# --- the order of the lists


def test_lists_are_in_the_order_of_their_records() -> None:
    assert attributes(PACE) == [f"pace.{name}" for name in names(Pace)]
    assert attributes(TIMING) == [f"timing.{name}" for name in names(Timing)]
    clock = names(HostClock)
    place = clock.index("pace")
    assert attributes(HOSTS) == [*clock[:place], *attributes(PACE), *clock[place + 1 :]]
    assert attributes(ROBOTS) == names(RobotsRecord)
    assert tuple(attributes(URLS)) == Child._fields
    assert tuple(attributes(ROWS)) == Row._fields


def test_every_field_of_a_page_has_a_column() -> None:
    assert {attribute.split(".")[0] for attribute in attributes(PAGES)} == set(names(PageRecord))


# --- lists and schema. (PostgreSQL's: the contract suite.)


@pytest.mark.parametrize(
    ("table", "others"),
    [
        ("hosts", ()),
        ("robots", ("version",)),
        ("pages", ("id", "url", "file")),
        ("urls", ("id", "not_before", "state", "page", "tries", "crashes", "limited", "reason", "changed_at")),
        ("errors", ("id",)),
    ],
)
def test_a_list_has_every_column_of_its_table(table: str, others: tuple[str, ...]) -> None:
    db = apsw.Connection(":memory:")
    for step in migrations("sqlite"):
        db.execute(step).fetchall()
    columns = {name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    assert columns == {column.name.strip('"') for column in LISTS[table]}.union(others)


def test_statements_name_lists_of_columns() -> None:
    upsert = statements("sqlite", "worker")["upsert_robots"]
    assert upsert.startswith("INSERT INTO robots(origin, host, access, ")
    assert "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)" in upsert
    assert "SET access = excluded.access, status = excluded.status, " in upsert
    assert "SELECT h.host, h.next_at, " in statements("postgres", "worker")["hosts"]
    assert "(%(parent)s)[page], " in statements("postgres", "worker")["insert_urls"]


# --- values


def test_a_clock_is_read_as_it_was_written() -> None:
    clock = HostClock("a.test", 1500, 1000, Pace(1.5, 2.0, 3, 4, 5, 6, 7), "backoff", 8, "192.0.2.1", "b.test")
    row = host_values(clock, 100_000)
    assert (len(row), row[:2]) == (len(HOSTS), ("a.test", 101_500))
    assert host_clock(row, 100_000) == clock
    assert host_clock(row, 200_000).next_in_ms == 0


def test_robots_are_read_as_they_were_written() -> None:
    record = RobotsRecord("http://a.test", "a.test", "rules", 200, b"x", 60_000, 1, "detail", 5)
    row = robots_values(record, 100_000)
    assert 160_000 in row
    assert robots_record(row, 100_000) == record
    assert robots_record(row, 170_000).expires_in_ms == -10_000, "it has been stale for so long"


def test_a_page_has_a_value_for_each_column() -> None:
    page = PageRecord(status=200, title="a\x00b", timing=Timing(tls_ms=2.5), archive=ArchivePlace("f", 7, 9))
    values = dict(zip((column.name for column in PAGES), page_values(page, {}), strict=True))
    assert (values["status"], values["title"], values["tls_ms"]) == (200, "a\ufffdb", 2.5)
    assert (values['"offset"'], values["length"], values["links"], values["facts"]) == (7, 9, None, None)


def test_an_error_has_a_value_for_each_column() -> None:
    values = error_values(ErrorNote(1, 2, "timeout", "it took\x00long", 3), 4, 5)
    noted = dict(zip((column.name for column in ERRORS), values, strict=True))
    assert (noted["at"], noted["worker"], noted["crawl"], noted["url"], noted["tries"]) == (5, 4, 1, 2, 3)
    assert (noted["reason"], noted["detail"]) == ("timeout", "it took\ufffdlong")
