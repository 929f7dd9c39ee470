"""What `nephila verify` asks the store itself: every statement of checks.sql finds rows that should not be."""

from collections.abc import Mapping

from nephila.frontier.rows import BROKEN, miscounted
from nephila.frontier.tables import OverTables
from nephila.models import ANSWERED, STATE_CODES


class Checks(OverTables):
    checks: Mapping[str, str]  # the statements of the dialect's checks.sql

    def check(self) -> list[str]:
        """Broken promises of the store itself, one line each. A crawl may run meanwhile: where the database has
        snapshots, all statements read the same one."""
        answered = {"answered": self.tables.ints(STATE_CODES[state] for state in ANSWERED)}
        with self.tables.snapshot() as reader:
            problems = [
                BROKEN[name].format(*row) for name, sql in self.checks.items() for row in reader.read(sql, answered)
            ]
            for (crawl_id,) in reader.rows("kept_crawls"):
                counted = reader.rows("counted", crawl=crawl_id)
                problems += miscounted(crawl_id, counted, dict(reader.rows("tallies", crawl=crawl_id)))
        return problems
