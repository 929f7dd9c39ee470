"""What a crawl of a virtual web must end with, and what its servers must never see. Shares no code with the crawler."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulator.web import STRANGER, Act, Hit, Mood, Page, Robots, Site, Web, key_of

TOLERANCE_MS = 1.0  # the store keeps whole milliseconds
HOPS_MAX = 20

End = tuple[str, str]  # state, reason
HOST_DEAD = ("failed", "host_dead")

ENDS: dict[str, End] = {
    Act.PAGE: ("visited", ""),
    Act.TEXT: ("visited", ""),
    Act.TORN: ("visited", ""),
    Act.MISSING: ("not_found", ""),
    Act.FORBIDDEN: ("forbidden", ""),
    Act.GONE: ("http_error", "http_4xx"),
    Act.BROKEN: ("http_error", "http_5xx"),
    Act.LIMITED: ("http_error", "rate_limited"),
    Act.RESET: ("failed", "reset"),
    Act.GARBAGE: ("failed", "protocol"),
    Act.HANG: ("failed", "timeout"),
    Act.POISON: ("failed", "poison"),
}
LINKING = (Act.PAGE, Act.TORN)
UNANSWERED: dict[Mood, tuple[End, ...]] = {
    Mood.NAMELESS: (("failed", "nxdomain"), HOST_DEAD),
    Mood.CLOSED: (("failed", "connect"), HOST_DEAD),
    Mood.SILENT: (("failed", "timeout"), HOST_DEAD),
}


@dataclass(frozen=True, slots=True)
class Terms:
    """A crawl's settings as far as they decide about ends and gaps."""

    obeys_robots: bool
    redirects: str  # enqueue | follow | record
    any_host: bool
    floor_ms: float
    max_inflight: int
    retry_after_cap_ms: float


@dataclass(frozen=True, slots=True)
class Expected:
    ends: dict[str, tuple[End, ...]]  # URL -> the ends it may have
    refusals: Counter[tuple[str, str]]  # host, reason


def origin_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


class Oracle:
    def __init__(self, web: Web, terms: Terms) -> None:
        self.web = web
        self.terms = terms

    def expected(self, seeds: list[str]) -> Expected:
        found = Expected({}, Counter())
        waiting = list(seeds)
        while waiting:
            url = waiting.pop()
            if url not in found.ends:
                found.ends[url], children = self._end(url, found.refusals)
                waiting += children
        return found

    def _end(self, url: str, refusals: Counter[tuple[str, str]]) -> tuple[tuple[End, ...], list[str]]:
        if origin_of(url) == STRANGER:
            return UNANSWERED[Mood.NAMELESS], []
        site = self._site(url)
        if site.mood is Mood.NAMELESS:
            return UNANSWERED[Mood.NAMELESS], []
        refusal = self.refused(url)
        if refusal:
            return (("excluded", refusal),), []
        if site.mood is not Mood.WELL:
            return UNANSWERED[site.mood], []
        page, hops = self._followed(self.web.pages[url])
        if page.act is Act.REDIRECT:
            return self._redirect(url, page, hops, refusals)
        if page.act not in LINKING:
            return (ENDS[page.act],), []
        links = [page.url + link.strip("/") if link.startswith("/") else link for link in page.links]
        for link in set(links):
            if link.startswith(STRANGER) and not self.terms.any_host:
                refusals["stranger.test", "scope"] += 1
            elif link.endswith(".zip"):
                refusals[key_of(url), "extension"] += 1
        return (ENDS[page.act],), [link for link in links if self._admitted(link)]

    def _admitted(self, url: str) -> bool:
        if not url.startswith("http://") or url.endswith(".zip"):
            return False
        return self.terms.any_host or not url.startswith(STRANGER)

    def _followed(self, page: Page) -> tuple[Page, int]:
        trail = [page.url]
        while self.terms.redirects == "follow" and page.act is Act.REDIRECT:
            target = page.target
            inside = key_of(target) == key_of(page.url) and target not in trail and not self.refused(target)
            if not inside or len(trail) > HOPS_MAX:
                break
            trail.append(target)
            page = self.web.pages[target]
        return page, len(trail) - 1

    def _redirect(
        self, url: str, page: Page, hops: int, refusals: Counter[tuple[str, str]]
    ) -> tuple[tuple[End, ...], list[str]]:
        if not self._admitted(page.target):
            refusals["stranger.test", "scope"] += 1
            return (("redirected", "redirect_out_of_scope"),), []
        if page.target == url or hops >= HOPS_MAX:
            return (("redirected", "redirect_loop"),), []
        return (("redirected", ""),), [] if self.terms.redirects == "record" else [page.target]

    def refused(self, url: str) -> str:
        """Why robots.txt keeps us from asking for the URL; empty: it does not."""
        if not self.terms.obeys_robots or origin_of(url) == STRANGER:
            return ""
        site, origin = self.web.origins[origin_of(url)]
        rules = origin.robots
        if site.mood is Mood.NAMELESS:
            return ""
        if site.mood is not Mood.WELL or rules is Robots.BROKEN or not self._answers(origin.target):
            return "robots_unreachable"
        if rules is Robots.PARKED:
            return "crawl_delay"
        private = "/private" in url and rules not in (Robots.NONE, Robots.EMPTY)
        return "robots" if private else ""

    def _answers(self, target: str) -> bool:
        """Whether the place that robots.txt redirects to, if it does, answers."""
        return not target or (origin_of(target) != STRANGER and self._site(target).mood is Mood.WELL)

    def _site(self, url: str) -> Site:
        return self.web.origins[origin_of(url)][0]

    # --- what servers see

    def offences(self) -> Iterator[str]:
        by_key: dict[str, list[Hit]] = defaultdict(list)
        for hit in self.web.hits:
            by_key[hit.key].append(hit)
        for hits in by_key.values():
            yield from self._hurried(hits)
            if self.terms.obeys_robots:
                yield from self._uninvited(hits)

    def _hurried(self, hits: list[Hit]) -> Iterator[str]:
        one, most = self.terms.max_inflight == 1, self.terms.max_inflight
        for place, hit in enumerate(hits):
            before = hits[:place]
            open_hits = [other for other in before if other.ended is None or other.ended > hit.started]
            if len(open_hits) >= most:
                yield f"{len(open_hits) + 1} requests in flight at {hit.key}: {_told(hit)}, {_told(open_hits[-1])}"
            if not before:
                continue
            last = max((other.ended or hit.started) if one else other.started for other in before)
            wanted = max(self.terms.floor_ms, self._crawl_delay_ms(hit))
            if hit.started - last < wanted - TOLERANCE_MS:
                gap = f"{hit.started - last:.1f} ms instead of {wanted:.0f}"
                yield f"{gap} at {hit.key}: {_told(hit)}, {_told(before[-1])}"
            rest = before[-1]
            asked = min(rest.asks_rest_ms, self.terms.retry_after_cap_ms)
            if one and rest.heard and rest.machine == hit.machine and hit.started - (rest.ended or 0) < asked:
                yield f"asked before Retry-After at {hit.key}: {_told(hit)}, {_told(rest)}"

    def _crawl_delay_ms(self, hit: Hit) -> float:
        """The delay that is known for sure: a page is asked for only after its origin's robots.txt has been read."""
        origin = self.web.origins[origin_of(hit.url)][1]
        known = self.terms.obeys_robots and origin.robots is Robots.DELAY and not _is_robots(hit.url)
        return origin.crawl_delay_ms if known else 0.0

    def _uninvited(self, hits: list[Hit]) -> Iterator[str]:
        for place, hit in enumerate(hits):
            if _is_robots(hit.url):
                continue
            if self.refused(hit.url):
                yield f"robots.txt forbids it ({self.refused(hit.url)}): {_told(hit)}"
            robots = origin_of(hit.url) + "/robots.txt"
            if not any(other.url == robots and other.heard for other in hits[:place]):
                yield f"asked before robots.txt: {_told(hit)}"


def _is_robots(url: str) -> bool:
    return url.endswith(("/robots.txt", "/rules.txt"))


def _told(hit: Hit) -> str:
    ended = "open" if hit.ended is None else f"{hit.ended:.1f}"
    return f"{hit.url} by {hit.machine} for {hit.crawl} from {hit.started:.1f} to {ended}"
