"""The indexer: follows the archive and puts the text of what it finds into the search index.

Every archive file has one writer, and the bytes that a flush made durable are committed with the rows that name them.
So "indexed up to here", one number per file, is exact: nothing is missed, nothing is read twice, whoever dies when.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from structlog.typing import FilteringBoundLogger

from nephila import log
from nephila.archive.reader import read_response
from nephila.clock import Clock
from nephila.control.supervisor import Supervisor
from nephila.errors import ArchiveError, NephilaError, UsageError
from nephila.extract.directives import directives_of
from nephila.extract.text import HTML_BYTES_MAX, text_of
from nephila.fetch.body import decode_body
from nephila.frontier.store import ArchivedPage, Catalog
from nephila.models import ArchivePlace, Kind, UrlState
from nephila.profiles import CrawlSettings, RobotsMode
from nephila.search.index import Document, SearchIndex

PAGES_PER_STEP = 200
CHARS_PER_STEP = 8_000_000  # of text held until it is committed; the page that goes beyond is the last
FORGET_DOCUMENTS = 1_000  # of a deleted crawl, at a time
STALE_MS = 5_000.0  # how often deleted crawls are looked for
IDLE_SECONDS = 1.0
AGAIN_SECONDS = 60.0  # before an indexer that died at every start is started again


@dataclass(frozen=True, slots=True)
class Progress:
    indexed: int  # pages
    pending_bytes: int  # of the archive
    unreachable: int = 0  # files of the archive that are not here


@dataclass(slots=True)
class Indexer:
    catalog: Catalog
    index: SearchIndex
    archive: Path
    clock: Clock
    skipped: int = 0  # records that could not be read
    _unreachable: set[str] = field(default_factory=set)
    _complained: set[str] = field(default_factory=set)  # files whose broken records were logged
    _last_file: str = ""
    _stale_tick: float = float("-inf")

    def step(self, pages_max: int = PAGES_PER_STEP) -> int | None:
        """How many rows were looked at or taken out, 0 where nothing is to do; None: it is another process's turn."""
        with self.index.turn() as ours:
            return self._forget() or self._follow(pages_max) if ours else None

    def progress(self) -> Progress:
        pending = pending_bytes(self.catalog, self.index)
        return Progress(self.index.count(), pending, len(self._unreachable))

    # --- what is gone

    def _forget(self) -> int:
        """A crawl that was deleted; also one whose number a newer store has given to another."""
        now = self.clock.tick_ms()
        if now < self._stale_tick:
            return 0
        stale = self.index.crawls().items() - self.catalog.crawl_uuids().items()
        for crawl, _ in stale:
            if forgotten := self.index.forget_crawl(crawl, FORGET_DOCUMENTS):
                return forgotten  # and the next step goes on with it
        self._stale_tick = now + STALE_MS
        return 0

    # --- what is new

    def _follow(self, pages_max: int) -> int:
        sizes, marks = self.catalog.archive_sizes(), self.index.marks()
        if gone := marks.keys() - dict(sizes).keys():
            self.index.forget_files(sorted(gone))
        for file, size in self._in_turn([(file, size) for file, size in sizes if marks.get(file, 0) < size]):
            if self._reachable(file):
                self._last_file = file
                return self._read_on(file, marks.get(file, 0), size, pages_max)
        return 0

    def _in_turn(self, files: list[tuple[str, int]]) -> Iterable[tuple[str, int]]:
        """The files behind the last one first: a large one that is old does not keep new pages waiting."""
        names = [file for file, _ in files]
        at = names.index(self._last_file) + 1 if self._last_file in names else 0
        return files[at:] + files[:at]

    def _reachable(self, file: str) -> bool:
        if (self.archive / file).exists():
            self._unreachable.discard(file)
            return True
        if file not in self._unreachable:
            self._unreachable.add(file)
            _log().warning("archive_file_missing", file=file, folder=str(self.archive))
        return False

    def _read_on(self, file: str, start: int, size: int, pages_max: int) -> int:
        rows = self.catalog.pages_in_file(file, start, size, pages_max)
        uuids = self.catalog.crawl_uuids() if rows else {}
        settings: dict[int, CrawlSettings] = {}
        documents: list[Document] = []
        end, chars, looked = size, 0, 0
        for row in rows:
            looked += 1
            if row.crawl in uuids and (document := self._document(file, row, settings)) is not None:
                documents.append(document)
                chars += len(document.text)
            if looked == pages_max or chars > CHARS_PER_STEP:
                end = row.offset + row.length
                break
        if not self.index.add(file, start, end, documents, uuids):
            return 0  # another process was there: we had lost our turn
        return looked or 1

    def _document(self, file: str, row: ArchivedPage, settings: dict[int, CrawlSettings]) -> Document | None:
        """None: it is no page, asks not to be found, or cannot be read."""
        if row.state is not UrlState.VISITED or row.kind is not Kind.PAGE or row.noindex:
            return None
        try:
            if row.crawl not in settings:
                settings[row.crawl] = self.catalog.crawl(row.crawl).settings
        except UsageError:  # deleted just now
            return None
        try:
            return document_of(self.archive, file, row, settings[row.crawl])
        except Exception as error:
            self._skip(file, row, error)
            return None

    def _skip(self, file: str, row: ArchivedPage, error: Exception) -> None:
        self.skipped += 1
        if file not in self._complained:
            self._complained.add(file)
            said = str(error) if isinstance(error, ArchiveError) else f"{type(error).__name__}: {error}"
            _log().warning("page_not_indexed", url_id=row.url_id, file=file, offset=row.offset, error=said)


def document_of(archive: Path, file: str, row: ArchivedPage, settings: CrawlSettings) -> Document | None:
    response = read_response(archive, ArchivePlace(file, row.offset, row.length))
    tags = [value for name, value in response.headers if name.lower() == "x-robots-tag"]
    # Of HTML the row says so; other types are not read for it by the crawl.
    if tags and settings.robots.mode is RobotsMode.OBEY and directives_of((), tags).noindex:
        return None
    body = decode_body(response.headers, response.body, min(settings.fetch.body_bytes_max, HTML_BYTES_MAX)).body
    # What has no text is found by its address.
    text = text_of(body, row.content_type) or unquote(row.url)
    return Document(row.url_id, row.crawl, row.host, row.url, row.title or "", text, row.fetched_at)


def pending_bytes(catalog: Catalog, index: SearchIndex) -> int:
    marks = index.marks()
    return sum(max(0, size - marks.get(file, 0)) for file, size in catalog.archive_sizes())


def follow(indexer: Indexer, stopped: Callable[[], bool], sleep: Callable[[float], None]) -> None:
    """Until it is stopped. A store or an index that is away is waited for."""
    said = ""
    while not stopped():
        try:
            done = indexer.step()
            said = ""
        except NephilaError as error:
            done = None
            if str(error) != said:
                said = str(error)
                _log().warning("indexing_waits", error=said)
        log.flush()
        if not done:
            sleep(IDLE_SECONDS)


class IndexerKeeper(Supervisor):
    """Replaces an indexer that died, and never gives up: the server is more than its search."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        super().__init__(command, environment, 1, suspect=lambda url_id: None)

    def poll(self) -> None:
        try:
            super().poll()
        except NephilaError as error:
            _log().error("indexer_put_off", error=str(error), again_in_seconds=AGAIN_SECONDS)
            self.put_off(AGAIN_SECONDS)


def _log() -> FilteringBoundLogger:
    return log.component_log("indexer")
