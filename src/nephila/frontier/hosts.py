"""Hosts one by one: clocks, robots.txt, queues, and the workers that hold them."""

from collections.abc import Collection

from nephila.frontier.columns import host_clock, robots_record
from nephila.frontier.records import OPEN_COUNT_MAX, ORIGINS_MAX, QueueRow, WorkerRow
from nephila.frontier.rows import queue_row, worker_rows
from nephila.frontier.store import HostClock, RobotsRecord
from nephila.frontier.tables import OverTables
from nephila.urls.identity import host_of


class Hosts(OverTables):
    def host(self, host: str) -> HostClock | None:
        row = self.tables.row("host", host=host)
        return host_clock(row, self.tables.now()) if row else None

    def addresses(self, hosts: Collection[str]) -> dict[str, str]:
        """The addresses of each host whose name was resolved, separated by blanks."""
        return dict(self.tables.rows("addresses", hosts=self.tables.texts(hosts)))

    def robots(self, origin: str) -> RobotsRecord | None:
        row = self.tables.row("robots", host=host_of(origin + "/"), origin=origin)
        return robots_record(row, self.tables.now()) if row else None

    def robots_of_host(self, host: str) -> list[RobotsRecord]:
        """The robots.txt of each of its origins, up to ORIGINS_MAX."""
        now = self.tables.now()
        return [robots_record(row, now) for row in self.tables.rows("robots_of_host", host=host, limit=ORIGINS_MAX)]

    def queue(self, crawl_id: int, host: str) -> QueueRow | None:
        row = self.tables.row("queue", crawl=crawl_id, host=host, open_max=OPEN_COUNT_MAX + 1)
        return queue_row(row, self.tables.now(), OPEN_COUNT_MAX) if row else None

    def queues(self, crawl_id: int, limit: int) -> list[QueueRow]:
        """At most `limit` active queues, preferably those that a worker holds; the fullest first."""
        now = self.tables.now()
        found = self.tables.rows("queues", crawl=crawl_id, limit=limit, open_max=OPEN_COUNT_MAX + 1)
        return sorted((queue_row(row, now, OPEN_COUNT_MAX) for row in found), key=lambda row: -row.open)

    def workers(self) -> list[WorkerRow]:
        """All sessions, the newest first, also those that have ended."""
        found = [
            (tuple(row), bool(living) and self.tables.session_alive(session))
            for *row, living, session in self.tables.rows("workers", now=self.tables.now())
        ]
        return worker_rows(found, lambda ids: self.tables.rows("urls_by_id", ids=self.tables.ints(ids)))
