"""The follower: follows the archive, reads each record once and feeds what is derived of it to every derivation.

Every archive file has one writer, and the bytes that a flush made durable are committed with the rows that name them.
So "derived up to here", one number per file and derivation, is exact: nothing is missed or derived twice, whichever
process dies. Records are read and derived in a helper process (`DerivingProcess`): one that a page ends costs nothing
but that page, which is tried TRIES_MAX times in all and then skipped.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from nephila import log
from nephila.archive.archive import Archive
from nephila.clock import Clock
from nephila.control.derivation import Derivation, DerivationProgress, progress_of
from nephila.control.derive_worker import DerivedValue, Trip
from nephila.control.derivers import CrawlRules, DeriveJob
from nephila.control.deriving import Answered, HelperEnded
from nephila.control.supervisor import Supervisor
from nephila.derived.ledger import Derived, Ledger
from nephila.errors import NephilaError, UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import ArchivedPage
from nephila.models import FailedRecord
from nephila.profiles import RobotsMode

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from structlog.typing import FilteringBoundLogger

Jobs = deque[tuple[int, DeriveJob]]  # each with the number of its row

PAGES_PER_STEP = 200
BYTES_PER_STEP = 8_000_000  # of values held until they are committed; the page that goes beyond is the last
TRIES_MAX = 3  # of a page that ends its helper
FORGET_PAGES = 1_000  # of a deleted crawl, at a time
STALE_MS = 5_000.0  # how often deleted crawls are looked for
IDLE_SECONDS = 1.0
AGAIN_SECONDS = 60.0  # before a follower that died at every start is started again


class PageDeriver(Protocol):
    """`DerivingProcess`, or what a test has in its place."""

    def answers(self, trip: Trip) -> "Generator[Answered | HelperEnded]": ...
    def close(self) -> None: ...


@dataclass(slots=True)
class _FollowedStretch:
    """Rows of a file, and what has come of them so far."""

    file: str
    start: int
    rows: Sequence[ArchivedPage]
    looked: int = 0  # rows that are done with
    bytes: int = 0  # of values
    values: "dict[str, list[tuple[ArchivedPage, Any]]]" = field(default_factory=dict)  # by derivation
    failed: dict[str, dict[int, FailedRecord]] = field(default_factory=dict)  # by derivation and offset
    skipped: dict[str, list[FailedRecord]] = field(default_factory=dict)

    def end(self, whole: int) -> int:
        """Up to where all rows are done with; `whole` where that is the whole stretch."""
        if self.looked < len(self.rows) or whole < 0:
            last = self.rows[self.looked - 1]
            return last.offset + last.length
        return whole


@dataclass(slots=True)
class Follower:
    catalog: Catalog
    derivations: Sequence[Derivation]
    archive: Archive
    ledger: Ledger
    deriver: PageDeriver
    clock: Clock
    skipped: int = 0  # records that could not be derived, since it began
    unreachable: set[str] = field(default_factory=set)  # files of the archive that are not here
    _complained: set[tuple[str, str]] = field(default_factory=set)  # derivations and files with a skipped record
    _last_file: dict[str, str] = field(default_factory=dict)  # by derivation
    _next: int = 0  # the derivation whose turn it is to choose
    _stale_tick: float = float("-inf")

    def step(self, pages_max: int = PAGES_PER_STEP) -> int | None:
        """How many rows were looked at or pages forgotten; None while it is another process's turn to derive.

        A derivation whose store does not answer does not keep the others waiting.
        """
        trouble: NephilaError | None = None
        with ExitStack() as turns:
            ours: list[Derivation] = []
            for each in self.derivations:
                try:
                    ours += [each] if turns.enter_context(each.pages.turn()) else []
                except NephilaError as error:
                    trouble = error
            done = (self._forget(ours) or self._follow(ours, pages_max)) if ours else None
        if not done and trouble is not None:
            raise trouble
        return done

    def progress(self) -> list[DerivationProgress]:
        return progress_of(self.catalog, self.ledger, self.derivations)

    def close(self) -> None:
        """End the helper process."""
        self.deriver.close()

    # --- what is gone

    def forget_deleted(self) -> None:
        """Forget the pages of deleted crawls now. Where another process derives, that one does it."""
        for each in self.derivations:
            if not self._stale(each):
                continue  # and nothing is made where there is nothing
            with each.pages.turn() as ours:
                while ours and self._forget([each]):
                    pass

    def _stale(self, derivation: Derivation) -> set[tuple[int, str]]:
        return derivation.pages.crawls().items() - self.catalog.crawl_uuids().items()

    def _forget(self, ours: Iterable[Derivation]) -> int:
        """Forget pages of a crawl that was deleted, or whose number another crawl has in a newer store; how many."""
        now = self.clock.tick_ms()
        if now < self._stale_tick:
            return 0
        for each in ours:
            for crawl, _ in self._stale(each):
                if forgotten := each.pages.forget_crawl(crawl, FORGET_PAGES):
                    return forgotten  # and the next step goes on with it
        self._stale_tick = now + STALE_MS
        return 0

    # --- what is new

    def _follow(self, ours: Sequence[Derivation], pages_max: int) -> int:
        """One stretch, of a file that the next derivation is behind with, for all that are at the same mark.

        So those that keep up read together, and one that is far behind takes its turn among them, no more.
        """
        sizes = self.catalog.archive_sizes()
        marks = {each.what.name: each.pages.marks() for each in ours}
        self._forget_files(ours, marks, {file for file, _ in sizes})
        self._next += 1
        for number in range(len(ours)):
            chooser = ours[(self._next + number) % len(ours)].what.name
            for file, size in self._in_turn(chooser, sizes):
                start = marks[chooser].get(file, 0)
                if start < size and self._reachable(file):
                    together = [each for each in ours if marks[each.what.name].get(file, 0) == start]
                    # Up to the mark of one that is ahead: there they meet, and go on together.
                    ahead = [mark for each in ours if (mark := marks[each.what.name].get(file, 0)) > start]
                    return self._read_on(together, file, start, min([size, *ahead]), pages_max)
        return 0

    def _forget_files(self, ours: Iterable[Derivation], marks: dict[str, dict[str, int]], there: set[str]) -> None:
        for each in ours:
            if gone := sorted(marks[each.what.name].keys() - there):
                each.pages.forget_files(gone)
                self.ledger.forget_files(gone)

    def _in_turn(self, name: str, files: list[tuple[str, int]]) -> Iterable[tuple[str, int]]:
        """The files after the last one come first: a large old file does not keep new pages waiting."""
        names = [file for file, _ in files]
        last = self._last_file.get(name)
        at = names.index(last) + 1 if last in names else 0
        return files[at:] + files[:at]

    def _reachable(self, file: str) -> bool:
        if self.archive.has(file):
            self.unreachable.discard(file)
            return True
        if file not in self.unreachable:
            self.unreachable.add(file)
            _log().warning("archive_file_missing", file=file, folder=self.archive.location)
        return False

    def _read_on(self, together: Sequence[Derivation], file: str, start: int, stop: int, pages_max: int) -> int:
        for each in together:
            self._last_file[each.what.name] = file
        rows = self.catalog.pages_in_file(file, start, stop, pages_max)
        uuids = self.catalog.crawl_uuids() if rows else {}
        stretch = _FollowedStretch(file, start, rows)
        if rows:
            self._derive(stretch, together, uuids.keys(), stop)
        end = stretch.end(stop if len(rows) < pages_max else -1)
        moved = False
        for each in together:
            skipped = [record for record in stretch.skipped.get(each.what.name, []) if record.offset < end]
            if skipped:
                self.ledger.note(each.what, skipped)
            pages = [each.page(row, value) for row, value in stretch.values.get(each.what.name, [])]
            if each.pages.add(file, start, end, pages, uuids):
                moved = True
                self._settle(each.what, stretch, skipped, end)
        # Nothing moved: another process was there, we had lost our turn.
        return (stretch.looked or 1) if moved else 0

    # --- one stretch

    def _derive(
        self, stretch: _FollowedStretch, together: Sequence[Derivation], crawls: Iterable[int], stop: int
    ) -> None:
        for each in together:
            known = self.ledger.failed(each.what, stretch.file, stretch.start, stop)
            stretch.failed[each.what.name] = {record.offset: record for record in known}
        whats = {each.what.name: each.what for each in together}
        jobs = self._jobs(stretch, together, frozenset(crawls))
        number = -1  # of the last row that was answered
        while jobs:
            trip = Trip(stretch.file, [job for _, job in jobs], max(BYTES_PER_STEP - stretch.bytes, 0))
            with closing(self.deriver.answers(trip)) as answers:
                for answer in answers:
                    if isinstance(answer, HelperEnded):
                        self._try_again(stretch, jobs, answer, whats)
                        break
                    number, job = jobs.popleft()
                    self._take(stretch, number, job, answer.results)
                    stretch.bytes += answer.bytes if any(got.value is not None for got in answer.results) else 0
            if stretch.bytes > BYTES_PER_STEP and jobs and jobs[0][0] > number:
                stretch.looked = number + 1
                return
        stretch.looked = len(stretch.rows)

    def _jobs(self, stretch: _FollowedStretch, together: Sequence[Derivation], crawls: frozenset[int]) -> Jobs:
        """What is to be derived, with the number of each row. A record that was tried often enough is skipped."""
        jobs: Jobs = deque()
        rules: dict[int, CrawlRules | None] = {}
        for number, row in enumerate(stretch.rows):
            if row.crawl not in rules:
                rules[row.crawl] = self._rules(row.crawl) if row.crawl in crawls else None
            if (known := rules[row.crawl]) is None:
                continue
            names = [each.what.name for each in together if each.wants(row)]
            wanted = tuple(name for name in names if not self._tried_enough(stretch, name, row))
            if wanted:
                jobs.append((number, DeriveJob(row.offset, row.length, row.url, row.content_type, known, wanted)))
        return jobs

    def _rules(self, crawl: int) -> CrawlRules | None:
        try:
            settings = self.catalog.crawl(crawl).settings
        except UsageError:  # deleted just now
            return None
        obeys = settings.robots.mode is RobotsMode.OBEY
        return CrawlRules(crawl, settings.fetch.body_bytes_max, obeys, settings.norm)

    def _tried_enough(self, stretch: _FollowedStretch, name: str, row: ArchivedPage) -> bool:
        record = stretch.failed[name].get(row.offset)
        if record is None or record.tries < TRIES_MAX:
            return False
        stretch.skipped.setdefault(name, []).append(record._replace(skipped=True))
        return True

    def _take(self, stretch: _FollowedStretch, number: int, job: DeriveJob, results: Sequence[DerivedValue]) -> None:
        row = stretch.rows[number]
        for name, (value, fault) in zip(job.names, results, strict=True):
            if fault:
                tries = record.tries if (record := stretch.failed[name].get(row.offset)) else 0
                failed = FailedRecord(stretch.file, row.offset, row.url_id, tries, True, fault)
                stretch.skipped.setdefault(name, []).append(failed)
            elif value is not None:
                stretch.values.setdefault(name, []).append((row, value))

    def _try_again(self, stretch: _FollowedStretch, jobs: Jobs, ended: HelperEnded, whats: dict[str, Derived]) -> None:
        """Write the try down. What was derived together is tried one by one, so that only the culprit is blamed."""
        at = min(ended.ahead, len(jobs) - 1)
        number, job = jobs[at]
        del jobs[at]
        row, why = stretch.rows[number], ended.why
        for name in job.names:
            tries = record.tries if (record := stretch.failed[name].get(row.offset)) else 0
            failed = FailedRecord(stretch.file, row.offset, row.url_id, tries + 1, tries + 1 >= TRIES_MAX, why)
            stretch.failed[name][row.offset] = failed
            self.ledger.note(whats[name], [failed])
            fields = {"derivation": name, "url_id": row.url_id, "file": stretch.file, "offset": row.offset}
            _log().warning("helper_ended", **fields, tries=failed.tries, error=why)
            if not self._tried_enough(stretch, name, row):
                jobs.insert(at, (number, job._replace(names=(name,))))

    def _settle(self, what: Derived, stretch: _FollowedStretch, skipped: Sequence[FailedRecord], end: int) -> None:
        """The mark has moved: count and name what was skipped, and forget the tries of what was derived at last."""
        self.skipped += len(skipped)
        gone = {record.offset for record in skipped}
        tried = stretch.failed.get(what.name, {})
        if derived := [offset for offset in tried if offset < end and offset not in gone]:
            self.ledger.forget(what, stretch.file, derived)
        for record in skipped:
            place = (what.name, stretch.file)
            if record.tries or place not in self._complained:  # a damaged file has many, a page that kills is rare
                self._complained.add(place)
                fields = {"derivation": what.name, "url_id": record.url_id, "file": record.file}
                _log().warning("page_not_derived", **fields, offset=record.offset, error=record.why)


def follow(follower: Follower, stopped: Callable[[], bool], sleep: Callable[[float], None]) -> None:
    """Derive until `stopped`. Waits for a store that is away."""
    said = ""
    while not stopped():
        try:
            done = follower.step()
            said = ""
        except NephilaError as error:
            done = None
            if str(error) != said:
                said = str(error)
                _log().warning("deriving_waits", error=said)
        log.flush()
        if not done:
            sleep(IDLE_SECONDS)


class FollowerKeeper(Supervisor):
    """Replaces a follower that died, and never gives up: the server serves more than search."""

    kind = "follower"

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        super().__init__(command, environment, 1, suspect=lambda url_id: None)

    def poll(self) -> None:
        try:
            super().poll()
        except NephilaError as error:
            _log().error("follower_put_off", error=str(error), again_in_seconds=AGAIN_SECONDS)
            self.put_off(AGAIN_SECONDS)

    def _say_died(self, **fields: int) -> None:
        _log().warning("follower_died", **fields)


def _log() -> "FilteringBoundLogger":
    return log.component_log("follower")
