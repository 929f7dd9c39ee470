"""A crawl as a worker sees it: settings unpacked once, the admission rules, the keys that are known to be stored."""

from collections.abc import Iterable

from nephila.extract.frames import PageRules
from nephila.frontier.store import Crawl
from nephila.models import CrawlState
from nephila.profiles import ContentStore, PoliteSettings, RobotsMode
from nephila.robots.rules import product_token_of
from nephila.settings import ProcessSettings, user_agent_of
from nephila.urls.admission import Admission, Found

KNOWN_MAX = 500_000  # keys a crawl remembers, 16 bytes each (some 45 MB in a set of two generations)


class KnownKeys:
    """Keys that a commit inserted or met. It saves writes and never decides; when full, the older half is forgotten."""

    __slots__ = ("_new", "_old")

    def __init__(self) -> None:
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()

    def missing(self, links: Iterable[Found]) -> list[Found]:
        """Those of them that are not known: asked for all links of a page at once, which is twice as fast."""
        new, old = self._new, self._old
        return [link for link in links if link[2] not in new and link[2] not in old]

    def update(self, keys: Iterable[bytes]) -> None:
        self._new.update(keys)
        if len(self._new) > KNOWN_MAX // 2:
            self._old, self._new = self._new, set()


class LiveCrawl:
    __slots__ = (
        "admission",
        "archives",
        "crawl",
        "fetch",
        "floor_ms",
        "granted",
        "host",
        "id",
        "known",
        "limited",
        "outstanding",
        "permits_private",
        "polite",
        "product_token",
        "resolves_discovered",
        "retry",
        "rules",
        "running",
        "settings",
        "starved",
        "user_agent",
    )

    def __init__(self, crawl: Crawl, process: ProcessSettings) -> None:
        self.id = crawl.id
        self.known = KnownKeys()
        self.granted = 0  # pages this session may bring; only where max_pages is set
        self.starved = False  # rows wait for a grant; their hosts are looked at again when there is one
        self.outstanding: set[int] = set()  # URLs sent for whose outcome is not committed
        self.user_agent = user_agent_of(crawl.settings, process)
        self.product_token = product_token_of(self.user_agent)
        self.permits_private = process.permits_private
        self.floor_ms = 0  # of all crawls, by an operator's word
        self.update(crawl)

    def update(self, crawl: Crawl) -> None:
        """After a control change: state, rate limits and joined hosts may be new."""
        before, settings = getattr(self, "crawl", None), crawl.settings
        self.crawl = crawl
        self.settings = settings
        self.retry, self.host = settings.retry, settings.host
        self.polite = _with_floor(settings.polite, self.floor_ms)
        self.fetch = settings.fetch
        if not self.permits_private:
            self.fetch = settings.fetch.model_copy(update={"allow_private": False})
        self.running = crawl.state is CrawlState.RUNNING
        self.limited = settings.limits.max_pages is not None
        # A proxy resolves for us: our own questions would tell others what it hides.
        self.resolves_discovered = settings.dns.resolve_discovered and settings.fetch.proxy is None
        self.archives = settings.content.store is ContentStore.WARC
        if before is None or before.joined_hosts != crawl.joined_hosts:
            self.admission = Admission(settings, crawl.seeds, crawl.joined_hosts)
        obey = settings.robots.mode is RobotsMode.OBEY
        self.rules = PageRules(
            f"{crawl.id}+{len(crawl.joined_hosts)}", settings.model_dump_json(), crawl.seeds, crawl.joined_hosts, obey
        )

    def set_floor(self, floor_ms: int) -> None:
        self.floor_ms = floor_ms
        self.polite = _with_floor(self.settings.polite, floor_ms)

    def may_send(self) -> bool:
        return self.running and (not self.limited or self.granted > len(self.outstanding))


def _with_floor(polite: PoliteSettings, floor_ms: int) -> PoliteSettings:
    return polite.model_copy(update={"floor_ms": floor_ms}) if floor_ms > polite.floor_ms else polite
