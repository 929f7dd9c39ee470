"""How a crawl went: samples of its counts over the whole of its life, in a bounded number.

A sample is taken with each step of time. When there are SAMPLES_MAX, every other one goes and the step doubles: so a
crawl of a minute has a sample a second, one of a week a sample every half an hour. Whoever does upkeep takes them; the
row of `histories` says whose turn it was.
"""

from collections.abc import Sequence
from typing import NamedTuple

from nephila.frontier.tables import OverTables, Tables, TableWriter
from nephila.models import ERRORS, TERMINAL, Tally

STEP_MS = 1000  # between the first samples
SAMPLES_MAX = 512


class HistorySample(NamedTuple):
    at: int
    answered: int  # requests that had an answer
    ended: int
    queued: int  # URLs that are open
    failed: int  # URLs that ended with an error


class Histories(OverTables):
    def history(self, crawl_id: int) -> list[HistorySample]:
        """In order of time."""
        return [HistorySample._make(row) for row in self.tables.rows("history", crawl=crawl_id)]


class HistoryKeeper:
    """Takes the samples that are due. It looks at a crawl only when its step may be over."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._next: dict[int, int] = {}  # when to look at a crawl again

    def keep(self, running: Sequence[int], over: Sequence[int], now: int) -> int:
        """Take samples of the crawls that run, where it is time, and of those that are over now; how many."""
        last = set(over)
        due = [crawl for crawl in running if self._next.get(crawl, 0) <= now]
        self._next = {crawl: self._next[crawl] for crawl in running if crawl in self._next}
        if not (due or last):
            return 0
        return self.tables.transact(lambda tables: self._sample_all(tables, due, last, now))

    def _sample_all(self, tables: TableWriter, due: list[int], last: set[int], now: int) -> int:
        taken = 0
        for crawl in (*due, *last):
            step = tables.value("take_sample", crawl=crawl, step_ms=STEP_MS, now=now, always=crawl in last)
            self._next[crawl] = now + (step or STEP_MS)
            if step is not None:
                taken += _sample(tables, crawl, now)
        return taken


def _sample(tables: TableWriter, crawl: int, now: int) -> int:
    if tables.value("count_samples", crawl=crawl) >= SAMPLES_MAX:
        tables.change("thin_samples", crawl=crawl)
        tables.change("double_step", crawl=crawl)
    found = sample_of(dict(tables.rows("tallies", crawl=crawl)), now)
    return tables.change("add_sample", crawl=crawl, **found._asdict())


def sample_of(tallies: dict[str, int], now: int) -> HistorySample:
    ended, failed = (sum(int(tallies.get(state, 0)) for state in states) for states in (TERMINAL, ERRORS))
    queued = int(tallies.get(Tally.URLS, 0)) - ended
    return HistorySample(now, int(tallies.get(Tally.ANSWERED, 0)), ended, queued, failed)
