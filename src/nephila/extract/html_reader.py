"""The reader that knows HTML: small pages are read at once on the event loop, others in a helper process.

What decides is how large a page is, decoded, and how long the last ones of its host took."""

import asyncio
from collections.abc import Sequence
from time import thread_time

from nephila.blackbox import BlackBox
from nephila.clock import Clock
from nephila.extract.page import PageJob, is_html, is_read, judged, note_decoded, page_of
from nephila.extract.parse_pool import ParsePool
from nephila.extract.reader import PageReading, ParseFailure, ReadRequest
from nephila.fetch.body import codings_of, undo
from nephila.profiles import Requisites

BYTES_INLINE_MAX = 65_536  # decoded: half a millisecond of the loop's time; the worst page found takes 30
LINKS_INLINE_MAX = 1_000  # the worst take 75 ms
OFFLOAD_BYTES_MIN = 10_000  # decoded: reading a smaller page takes no longer than handing it over
USUAL_RATIO = 4  # of a page to what compression leaves of it
SLOW_SECONDS = 0.005  # of the loop's time: helpers read the next pages of a host that had a page like this
SLOW_HOSTS_MAX = 10_000  # remembered; when full all are forgotten
PIPELINED_WANTED = 16  # pages at a helper: what it reads while the loop goes round once
LOAD_EVERY_MS = 50.0
BUSY_SHARE = 0.4  # of its time: a loop that works for more may soon be the bottleneck
CHUNKED = ["chunked"]


class HtmlReader:
    """A `PageReader`, made inside the running loop.

    With `core_is_free` helpers read small pages, too, while the loop is the bottleneck. `blackbox` holds the id of the
    URL that is read on the loop, so that others learn which page killed the process.
    """

    def __init__(self, clock: Clock, pool: ParsePool, *, core_is_free: bool, blackbox: BlackBox | None = None) -> None:
        self._clock = clock
        self._pool = pool
        self._core_is_free = core_is_free
        self._blackbox = blackbox
        self._busy = False  # whether the loop is
        self._slow: set[str] = set()  # hosts
        self._watch = self._look_later()

    async def read(self, request: ReadRequest) -> PageReading | ParseFailure:
        codings = codings_of(request.headers)
        return self._read_here(request, codings) or await self._read_there(request, codings)

    def abort(self) -> None:
        self._pool.abort()

    async def close(self) -> None:
        self._watch.cancel()
        await self._pool.close()

    async def _read_there(self, request: ReadRequest, codings: list[str]) -> PageReading | ParseFailure:
        """In a helper, which also undoes the codings: what waits for it is as small as it came."""
        job = _job_of(request, request.body, codings, request.body_bytes_max)
        reading = await self._pool.read(request.host, request.rules, job)
        if request.host in self._slow and self._pool.expected_seconds(request.host) < SLOW_SECONDS / 2:
            self._slow.discard(request.host)
        return reading

    def _read_here(self, request: ReadRequest, codings: list[str]) -> PageReading | None:
        """The reading of a body that cannot take long; None: a helper must read it, which can be ended."""
        packed = bool(codings) and codings != CHUNKED
        if (
            request.alone
            or request.read_as == "sitemap"
            or request.host in self._slow
            or self._offloads(request, packed)
        ):
            return None
        received, limit = request.body, request.body_bytes_max
        decoded = undo(codings, received, min(limit, BYTES_INLINE_MAX) if packed else limit)
        large = decoded.truncated and limit > BYTES_INLINE_MAX if packed else len(decoded.body) > BYTES_INLINE_MAX
        job = _job_of(request, decoded.body, (), limit)
        readable = is_read(job)
        if large and (readable or packed):
            return None
        reading = self._page_read_here(request, job) if readable else PageReading()
        if reading is not None:
            reading.content = None if decoded.body is received else decoded.body
            note_decoded(reading, decoded)
        return reading

    def _page_read_here(self, request: ReadRequest, job: PageJob) -> PageReading | None:
        blackbox, reading, began = self._blackbox, None, thread_time()
        if blackbox is not None:
            blackbox.write(request.url_id)
        page = page_of(job)
        if len(page.links) + len(page.requisites) <= LINKS_INLINE_MAX:
            reading = judged(page, job, request.admission, obey_robots_meta=request.rules.obey_robots_meta)
        if blackbox is not None:
            blackbox.write(0)
        if thread_time() - began > SLOW_SECONDS:
            if len(self._slow) >= SLOW_HOSTS_MAX:
                self._slow.clear()
            self._slow.add(request.host)
        return reading

    def _offloads(self, request: ReadRequest, packed: bool) -> bool:
        """Pages are read by a helper when the loop is the bottleneck and a core is free."""
        if not (self._core_is_free and self._busy):
            return False
        if len(request.body) * (USUAL_RATIO if packed else 1) < OFFLOAD_BYTES_MIN:
            return False
        ahead = self._pool.pages_ahead(request.host)
        return ahead is not None and ahead < PIPELINED_WANTED and is_html(request.headers.first("content-type"), b"")

    def _look_later(self) -> asyncio.TimerHandle:
        looked, worked = self._clock.tick_ms(), thread_time()
        return asyncio.get_running_loop().call_later(LOAD_EVERY_MS / 1000, self._watch_load, looked, worked)

    def _watch_load(self, looked_tick: float, worked: float) -> None:
        self._busy = (thread_time() - worked) * 1000 > BUSY_SHARE * (self._clock.tick_ms() - looked_tick)
        self._watch = self._look_later()


def _job_of(request: ReadRequest, body: bytes, codings: Sequence[str], limit: int) -> PageJob:
    headers = request.headers
    content_type, robots_tags = headers.first("content-type"), tuple(headers.all("x-robots-tag"))
    needed_by = "" if request.admission.requisites is Requisites.NONE else request.host
    read_as = (request.read_as, request.speaks_for)
    what = (request.depth_of_children, robots_tags, codings, limit, needed_by, *read_as)
    return PageJob(body, request.url, content_type, *what)
