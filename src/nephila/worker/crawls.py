"""`LiveCrawl`: a crawl as a worker holds it. Settings unpacked once, admission rules, keys known to be stored."""

from collections.abc import Iterable
from dataclasses import replace

from nephila.extract.reader import PageRules
from nephila.fetch.fetcher import FetchRequest
from nephila.fetch.manners import is_own, loosened
from nephila.frontier.store import Crawl
from nephila.models import CrawlState
from nephila.policy.dispatch import terms_of
from nephila.profiles import ContentStore, RobotsMode, SitemapMode
from nephila.settings import ProcessSettings, user_agent_of
from nephila.urls.admission import Admission, Found

SITEMAPPED_MAX = 100_000  # origins of a crawl whose sitemaps were looked for; when full all are forgotten
KNOWN_MAX = 500_000  # keys a crawl remembers, 16 bytes each (some 45 MB in a set of two generations)


class KnownKeys:
    """Keys that a commit inserted or met. It saves writes and never decides; when full, the older half is forgotten."""

    __slots__ = ("_new", "_old")

    def __init__(self) -> None:
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()

    def missing(self, links: Iterable[Found]) -> list[Found]:
        """The links that are not known: all links of a page at once, which is twice as fast as one by one."""
        new, old = self._new, self._old
        return [link for link in links if link[2] not in new and link[2] not in old]

    def __contains__(self, key: bytes) -> bool:
        return key in self._new or key in self._old

    def forget(self, key: bytes) -> None:
        self._new.discard(key)
        self._old.discard(key)

    def update(self, keys: Iterable[bytes]) -> None:
        self._new.update(keys)
        if len(self._new) > KNOWN_MAX // 2:
            self._old, self._new = self._new, set()


class LiveCrawl:
    __slots__ = (
        "admission",
        "ahead",
        "archives",
        "crawl",
        "examples",
        "fetch",
        "floor_ms",
        "granted",
        "host",
        "id",
        "joined_hosts",
        "known",
        "limited",
        "looks_for_sitemaps",
        "loose",
        "named_to_proxy",
        "outstanding",
        "own_hosts",
        "permits_private",
        "polite",
        "product_token",
        "resolves_discovered",
        "resume_tick",
        "retry",
        "rules",
        "running",
        "settings",
        "sitemapped",
        "sitemaps_only",
        "starved",
        "terms",
        "user_agent",
    )

    def __init__(self, crawl: Crawl, process: ProcessSettings, floor_ms: int = 0) -> None:
        self.id = crawl.id
        self.known = KnownKeys()
        # Refused links that were stored as examples, by host, reason and rule: up to EXAMPLES_EACH of EXAMPLED_MAX.
        self.examples: dict[tuple[str, str, str], list[str]] = {}
        self.granted = 0  # pages this session may bring; only where max_pages is set
        self.ahead = 0  # pages to be granted beyond those in flight, by what was used lately
        self.starved = False  # rows wait for a grant; their hosts are looked at again when there is one
        self.outstanding: set[int] = set()  # URLs sent for whose outcome is not committed
        self.sitemapped: set[str] = set()  # origins whose sitemaps were looked for in this session
        self.resume_tick = 0.0  # until then it pauses (polite.pause_ms)
        self.user_agent = user_agent_of(crawl.settings, process)
        self.permits_private = process.permits_private
        self.own_hosts = process.own_hosts
        self.floor_ms = floor_ms  # of the delays of all crawls, set by an operator
        self.crawl = crawl
        # Hosts that joined the scope, in the order in which this worker heard of them: helpers are sent what is new.
        self.joined_hosts = crawl.joined_hosts
        self.admission = Admission(crawl.settings, crawl.seeds, crawl.joined_hosts)
        self.update(crawl)

    def update(self, crawl: Crawl) -> None:
        """Take in the crawl after a control change: state, rate limits and joined hosts may be new."""
        settings = crawl.settings
        self.crawl = crawl
        self.settings = settings
        self.retry, self.host = settings.retry, settings.host
        self.fetch = settings.fetch
        if not self.permits_private:
            self.fetch = settings.fetch.model_copy(update={"allow_private": False})
        # A proxy that need not be guarded looks names up itself.
        self.named_to_proxy = self.fetch.proxy is not None and self.fetch.allow_private
        self.running = crawl.state is CrawlState.RUNNING
        self.limited = settings.limits.max_pages is not None
        self.loose = bool(loosened(settings)) or settings.robots.force
        # A proxy resolves for us: questions that the guard does not need would tell others what it hides.
        self.resolves_discovered = settings.dns.resolve_discovered and settings.fetch.proxy is None
        self.sitemaps_only = settings.sitemaps.mode is SitemapMode.ONLY
        self.looks_for_sitemaps = settings.sitemaps.mode is not SitemapMode.OFF
        self.archives = settings.content.store is ContentStore.WARC
        known = set(self.joined_hosts)
        if new := tuple(host for host in crawl.joined_hosts if host not in known):
            self.joined_hosts += new
            self.admission = self.admission.with_hosts(new)
        obey = settings.robots.mode is RobotsMode.OBEY
        self.rules = PageRules(crawl.id, settings.model_dump_json(), crawl.seeds, self.joined_hosts, obey)
        self.set_floor(self.floor_ms)

    def set_floor(self, floor_ms: int) -> None:
        crawl, self.floor_ms = self.crawl, floor_ms
        self.terms = terms_of(crawl.state, crawl.reason, crawl.settings, self.user_agent, floor_ms, crawl.pages_over)
        self.polite, self.product_token = self.terms.polite, self.terms.product_token

    def request(self, url: str, timeout_ms: int | None = None, bytes_max: int | None = None) -> FetchRequest:
        """A request of this crawl; without a time-out and a size of its own those of the settings hold."""
        return FetchRequest(url, self.fetch, self.user_agent, timeout_ms, bytes_max)

    def looks_at(self, origin: str) -> bool:
        """Whether the sitemaps of this origin are to be looked for: once in a session, for known ones are ignored."""
        if origin in self.sitemapped:
            return False
        if len(self.sitemapped) >= SITEMAPPED_MAX:
            self.sitemapped.clear()
        self.sitemapped.add(origin)
        return True

    def may_join(self, hostname: str) -> bool:
        """Whether a host that a seed redirects to may join the scope. What a crawl may do to the hosts that it was
        started for, it may not do to a stranger."""
        return not self.loose or is_own(hostname, self.own_hosts)

    def join(self, hostname: str) -> None:
        """The host is in scope from now on, here; the next flush tells it to all."""
        self.update(replace(self.crawl, joined_hosts=(*self.joined_hosts, hostname)))

    def request_started(self, now: float) -> None:
        self.resume_tick = now + self.polite.pause_ms

    def may_send(self) -> bool:
        """Whether a page may be sent. Where all pages were had, those that are left end instead (`dispatch`)."""
        return self.running and (not self.limited or self.granted > len(self.outstanding) or self.terms.pages_over)
