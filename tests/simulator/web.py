"""The virtual web: hosts with pages, robots.txt files, names and moods, drawn by chance; and the log of who asked when.

A page that answers badly for ever ends in one way, and one that answers badly a few times is well afterwards: so the
end of every URL is known (`oracle.py`), whatever order, crash or delay a seed brings.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from nephila.fetch.fetcher import FetchResult
from nephila.models import Reason, Timing
from tests.simulator.world import World

STRANGER = "http://stranger.test"  # no host of this web: its name does not exist
LATENCY_MS = (1.0, 60.0)
LOOK_UP_MS = (0.5, 50.0)
SLOW_MS = (100.0, 400.0)
HANGS_MS = 10**9


class Mood(StrEnum):
    """How a host is."""

    WELL = "well"
    NAMELESS = "nameless"  # NXDOMAIN
    CLOSED = "closed"  # refuses every connection
    SILENT = "silent"  # accepts and never answers


class Act(StrEnum):
    """What a URL answers, in the end."""

    PAGE = "page"
    TEXT = "text"  # no HTML
    REDIRECT = "redirect"
    MISSING = "404"
    FORBIDDEN = "403"
    GONE = "410"
    BROKEN = "500"
    LIMITED = "429"
    RESET = "reset"
    GARBAGE = "garbage"  # no HTTP
    HANG = "hang"
    TORN = "torn"  # the body ends early
    POISON = "poison"  # kills its parser


FAILING = (Act.BROKEN, Act.LIMITED, Act.RESET, Act.GARBAGE, Act.HANG, Act.TORN)
PASSING = (*FAILING, "503")  # what may precede the true answer


def key_of(url: str) -> str:
    """The politeness key, written here again on purpose: an oracle shares no code with what it judges."""
    return url.split("/")[2].partition(":")[0].removeprefix("www.")


@dataclass(slots=True)
class Page:
    url: str
    act: Act
    links: list[str] = field(default_factory=list)
    target: str = ""  # of a redirect
    first: list[str] = field(default_factory=list)  # what the first requests are answered instead


class Robots(StrEnum):
    NONE = "none"  # 404
    EMPTY = "empty"
    RULES = "rules"  # Disallow: /private
    DELAY = "delay"  # and a crawl-delay
    PARKED = "parked"  # a crawl-delay beyond reason
    BROKEN = "broken"  # 500 for ever
    MOVED = "moved"  # to another place of the same host
    ELSEWHERE = "elsewhere"  # to another host


@dataclass(slots=True)
class Origin:
    name: str  # scheme://host[:port]
    robots: Robots
    failures: int = 0  # requests that fail before robots.txt is answered
    crawl_delay_ms: int = 0
    target: str = ""  # of MOVED and ELSEWHERE


@dataclass(slots=True)
class Site:
    """The hosts of one politeness key."""

    key: str
    mood: Mood
    origins: list[Origin]
    slow: bool = False
    name_failures: int = 0  # look-ups that fail first


@dataclass(slots=True)
class Hit:
    """A request as its server sees it."""

    key: str
    url: str
    crawl: str
    machine: str
    started: float
    ended: float | None = None
    status: int | None = None
    asks_rest_ms: float = 0.0  # Retry-After
    heard: bool = False  # the answer reached the process


class Web:
    def __init__(self, sites: list[Site], pages: dict[str, Page]) -> None:
        self.sites = {site.key: site for site in sites}
        self.origins = {origin.name: (site, origin) for site in sites for origin in site.origins}
        self.pages = pages
        self.hits: list[Hit] = []
        self.looked_up: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()

    def look_up(self, name: str) -> Reason:
        site = self.sites.get(name.removeprefix("www."))
        self.looked_up[name] += 1
        if site is None or site.mood is Mood.NAMELESS:
            return Reason.NXDOMAIN
        return Reason.DNS if self.looked_up[name] <= site.name_failures else Reason.NONE

    def answer(self, url: str, chance: random.Random, now_ms: int) -> tuple[float, FetchResult]:
        """How long the server takes, and what it answers."""
        origin_name = "/".join(url.split("/", 3)[:3])
        site, origin = self.origins[origin_name]
        self._asked[url] += 1
        took = chance.uniform(*(SLOW_MS if site.slow and chance.random() < 0.3 else LATENCY_MS))
        if site.mood is Mood.CLOSED:
            return 1.0, _failed(url, now_ms, Reason.CONNECT)
        if site.mood is Mood.SILENT:
            return HANGS_MS, _failed(url, now_ms, Reason.TIMEOUT)
        if url.endswith("/robots.txt"):
            act, location, body = self._robots(url, origin, self._asked[url])
        elif url.endswith("/rules.txt"):
            act, location, body = "200", "", b"User-agent: *\nDisallow: /private\n"
        else:
            act, location, body = self._page(url, self._asked[url])
        if act == Act.HANG:
            return HANGS_MS, _failed(url, now_ms, Reason.TIMEOUT)
        if act in (Act.RESET, Act.GARBAGE):
            return took, _failed(url, now_ms, Reason.RESET if act == Act.RESET else Reason.PROTOCOL)
        return took, _answered(url, now_ms, act, location, body, chance)

    def _robots(self, url: str, origin: Origin, asked: int) -> tuple[str, str, bytes]:
        if asked <= origin.failures:
            return "503", "", b""
        match origin.robots:
            case Robots.NONE:
                return "404", "", b""
            case Robots.BROKEN:
                return "500", "", b""
            case Robots.MOVED | Robots.ELSEWHERE:
                return "301", origin.target, b""
            case Robots.EMPTY:
                return "200", "", b""
        body = b"User-agent: *\nDisallow: /private\n"
        if origin.crawl_delay_ms:
            body += b"Crawl-delay: %g\n" % (origin.crawl_delay_ms / 1000)
        return "200", "", body

    def _page(self, url: str, asked: int) -> tuple[str, str, bytes]:
        page = self.pages.get(url)
        if page is None:
            return "404", "", b""
        act = page.first[asked - 1] if asked <= len(page.first) else page.act
        if act == Act.REDIRECT:
            return "301", page.target, b""
        links = "".join(f'<a href="{link}">x</a>' for link in page.links)
        return act, "", f"<!doctype html><title>{url}</title>{links}<p>{act}</p>".encode()


def _failed(url: str, now_ms: int, reason: Reason) -> FetchResult:
    return FetchResult(url, now_ms, error=reason, detail=f"simulated: {reason}", request_bytes=b"GET")


STATUSES = {Act.PAGE: 200, Act.TEXT: 200, Act.TORN: 200, Act.POISON: 200}
RETRY_AFTER_SECONDS = (0, 1, 2)


def _answered(url: str, now_ms: int, act: str, location: str, body: bytes, chance: random.Random) -> FetchResult:
    status = STATUSES.get(act) or int(act)  # type: ignore[call-overload]
    kind = "text/plain" if act == Act.TEXT else "text/html; charset=utf-8"
    head = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}"]
    if location:
        head.append(f"Location: {location}")
    if status in (429, 503):
        head.append(f"Retry-After: {chance.choice(RETRY_AFTER_SECONDS)}")
    header_bytes = ("\r\n".join(head) + "\r\n\r\n").encode()
    torn = "disconnect" if act == Act.TORN else None
    return FetchResult(
        url, now_ms, status, "http/1.1", header_bytes, body, b"GET", "192.0.2.1", Timing(total_ms=5.0), torn
    )


# --- drawing a web

ACTS = {
    Act.PAGE: 60,
    Act.TEXT: 4,
    Act.REDIRECT: 9,
    Act.MISSING: 5,
    Act.FORBIDDEN: 2,
    Act.GONE: 2,
    Act.BROKEN: 3,
    Act.LIMITED: 1,
    Act.RESET: 2,
    Act.GARBAGE: 1,
    Act.HANG: 1,
    Act.TORN: 2,
    Act.POISON: 1,
}
ROBOTS = {
    Robots.NONE: 40,
    Robots.EMPTY: 10,
    Robots.RULES: 25,
    Robots.DELAY: 7,
    Robots.PARKED: 2,
    Robots.BROKEN: 4,
    Robots.MOVED: 3,
    Robots.ELSEWHERE: 7,
}
MOODS = {Mood.WELL: 85, Mood.NAMELESS: 5, Mood.CLOSED: 6, Mood.SILENT: 4}
ROBOTS_FAILURES = (0, 0, 0, 0, 1, 2)
CRAWL_DELAYS_MS = (300, 600, 1000)
PARKED_MS = 900_000


def _draw(chance: random.Random, weights: dict) -> StrEnum:  # type: ignore[type-arg]
    return chance.choices(list(weights), list(weights.values()))[0]  # type: ignore[no-any-return]


def draw_web(chance: random.Random, tries: int, *, follows: bool) -> tuple[Web, list[str]]:
    """A web and the seeds of its crawl; `tries` after the first one are made of a page that fails.

    `follows`: redirects are followed inside a visit. Then the end of a URL is known only if they stay in one origin
    (the robots.txt of another may or may not be known), and if no place on the way needs tries of its own.
    """
    calm = chance.random() < 0.25  # all is well: only the crawler's own misfortunes are left
    sites = [_site(chance, number, calm=calm) for number in range(chance.randint(1, 6))]
    origins = [origin for site in sites for origin in site.origins]
    for origin in origins:
        if origin.robots is Robots.MOVED:
            origin.target = origin.name + "/rules.txt"
        elif origin.robots is Robots.ELSEWHERE:
            others = [other.name for other in origins if other.name != origin.name] or [STRANGER]
            origin.target = chance.choice(others) + "/rules.txt"
    web, seeds = _with_pages(chance, sites, tries, calm=calm)
    if follows:
        _straighten(web)
    return web, seeds


def _straighten(web: Web) -> None:
    for page in web.pages.values():
        if page.act is Act.REDIRECT:
            page.first = []
            if key_of(page.target) == key_of(page.url) and not page.target.startswith(page.url.rsplit("/", 1)[0] + "/"):
                page.target = page.url
            if page.target in web.pages:
                web.pages[page.target].first = []


def _site(chance: random.Random, number: int, *, calm: bool) -> Site:
    key = f"h{number}.test"
    names = [f"http://{key}"]
    if chance.random() < 0.2:
        names.append(f"http://www.{key}")
    if chance.random() < 0.15:
        names.append(f"http://{key}:8080")
    origins = []
    for name in names:
        robots = Robots.NONE if calm else Robots(_draw(chance, ROBOTS))
        failures = 0 if calm else chance.choice(ROBOTS_FAILURES)
        delay = chance.choice(CRAWL_DELAYS_MS) if robots is Robots.DELAY else PARKED_MS * (robots is Robots.PARKED)
        origins.append(Origin(name, robots, failures, delay))
    mood = Mood.WELL if calm else Mood(_draw(chance, MOODS))
    return Site(key, mood, origins, slow=chance.random() < 0.2, name_failures=int(not calm and chance.random() < 0.1))


def _with_pages(chance: random.Random, sites: list[Site], tries: int, *, calm: bool) -> tuple[Web, list[str]]:
    origins = [origin.name for site in sites for origin in site.origins]
    count = max(len(origins), chance.choice((5, 10, 20, 40)))
    urls = [f"{origin}/" for origin in origins]
    while len(urls) < count:
        folder = "/private" if chance.random() < 0.1 else ""
        urls.append(f"{chance.choice(origins)}{folder}/p{len(urls)}")
    pages: dict[str, Page] = {}
    for place, url in enumerate(urls):
        act = Act.PAGE if calm else Act(_draw(chance, ACTS))
        page = pages[url] = Page(url, act)
        page.links = chance.choices(urls, k=chance.randint(0, 6))
        if chance.random() < 0.1:
            page.links.append(chance.choice((f"{STRANGER}/x", "mailto:a@b.test", "/file.zip")))
        if act is Act.REDIRECT:
            page.target = chance.choice([*urls, f"{STRANGER}/y", url])
        if not calm and act not in FAILING and tries and chance.random() < 0.2:
            spare = tries - max(site.name_failures for site in sites)  # a name that is not found takes a try, too
            page.first = [str(chance.choice(PASSING)) for _ in range(chance.randint(1, spare))]
        if place:  # some page before it links here, so that much of the web is found
            pages[urls[chance.randrange(place)]].links.append(url)
    seeds = urls[: chance.randint(1, min(3, len(origins)))]
    return Web(sites, pages), seeds


# --- asking it


class Exchange:
    """One request on its way; `deliver` hands the answer to the process that asked."""

    def __init__(
        self, world: World, web: Web, hit: Hit, took: float, result: FetchResult, deliver: Callable[[FetchResult], None]
    ) -> None:
        self.hit = hit
        self._world = world
        self._result = result
        self._deliver = deliver
        web.hits.append(hit)
        if took < HANGS_MS:
            world.after(took, self._answer)

    def _answer(self) -> None:
        if self.hit.ended is None:
            self.end()
            self.hit.status = self._result.status
            self._deliver(self._result)

    def end(self) -> None:
        """The server has answered, or its client is gone."""
        if self.hit.ended is None:
            self.hit.ended = self._world.now_ms
