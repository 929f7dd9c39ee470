"""A seeded random web on which the six profiles differ, and an oracle that says what each makes of it.

The web is layered: a page links to the next layer and to the root, and a redirect stays in its layer. So every URL has
one depth, whichever link is followed first. The server knows one spelling of a URL and redirects the others to it, as
ordinary web servers do: what is found does not depend on which spelling comes first.

What a profile does is written here by hand, from the requirements: the oracle asks no code of the product.
"""

import random
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from tests.site.fixtures import html, moved
from tests.site.server import Handler, Page, Request, Sites

LAYERS = 3  # of untidy pages: one more than `graph` asks for, as many as `jobs` does
PAGES_PER_KIND = 2  # of each layer
FLAKY = "1.0"  # the one page that fails at first: a host that fails is asked more slowly
CHAIN = 52  # pages in a row: the last lies below the depth of every profile
HOPS = 4  # redirects in a row: more than some profiles follow
TRACKING = "utm_source"
NOFOLLOW = '<meta name="robots" content="nofollow">'
NAMES = {
    "site.test": "127.0.0.1",
    "www.site.test": "127.0.0.1",
    "sub.site.test": "127.0.0.2",
    "other.test": "127.0.0.3",
    "mute.test": "127.0.0.4",  # a seed of its own, whose robots.txt cannot be had
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What makes profiles differ. The defaults are those of the profile `default`."""

    strip_slash: bool = False
    sort_query: bool = False
    strip_tracking: bool = False
    fold_www: bool = False
    scope: Literal["same_host", "same_domain", "any"] = "same_host"
    max_depth: int = 50
    fetch_at_max_depth: bool = True
    redirects: Literal["enqueue", "record", "follow"] = "enqueue"
    max_hops: int = 5
    robots: bool = True
    mute_robots_allow: bool = False
    tries: int = 3


RULES = {
    "default": Rules(),
    "strict": Rules(max_depth=25, redirects="record", max_hops=3, robots=False),
    "graph": Rules(
        strip_slash=True, scope="any", max_depth=2, fetch_at_max_depth=False, max_hops=3, robots=False
    ),
    "smallweb": Rules(scope="same_domain"),
    "broad": Rules(strip_slash=True, sort_query=True, strip_tracking=True, fold_www=True, scope="any", tries=2),
    "jobs": Rules(
        strip_slash=True,
        sort_query=True,
        scope="same_domain",
        max_depth=3,
        redirects="follow",
        max_hops=3,
        mute_robots_allow=True,
    ),
}  # fmt: skip


@dataclass(slots=True)
class Answer:
    """What the server says to one address."""

    status: int = 200
    links: list[str] = field(default_factory=list)
    location: str = ""
    nofollow: bool = False
    failures: int = 0  # answers 500 so often first


class ProfiledWeb:
    def __init__(self, seed: int, port: int) -> None:
        self.label = f"TEST_GRAPH_SEED={seed}"
        self.port = port
        self.answers: dict[str, Answer] = {}
        self._rng = random.Random(f"{seed}/profiles")
        self.seeds = [self._at("/"), self._at("/", "mute.test")]
        self._add_layers()
        self._add_chain()
        self.answers[self.seeds[1]] = Answer()

    def _at(self, path: str, host: str = "site.test") -> str:
        return f"http://{host}:{self.port}{path}"

    def _add_layers(self) -> None:
        parents = [self.answers.setdefault(self.seeds[0], Answer())]
        for layer in range(1, LAYERS + 1):
            pages = []
            for number in range(PAGES_PER_KIND):
                for spellings, page in self._kinds(f"{layer}.{number}"):
                    pages.append(page)
                    for spelling in spellings:
                        self._rng.choice(parents).links.append(spelling)
            for page in pages:
                page.links.append(self._at(f"/#{layer}"))
            parents = [page for page in pages if page.status == 200]
        for page in self.answers.values():
            self._rng.shuffle(page.links)

    def _kinds(self, name: str) -> list[tuple[list[str], Answer]]:
        """One URL of each kind: its spellings, of which each is linked to, and the page at its end."""
        folder, query = f"/folder/{name}/", f"/query/{name}"
        kinds = [
            self._page(self._at(f"/page/{name}")),
            self._page(self._at(folder), self._at(folder.rstrip("/"))),
            self._page(
                self._at(f"{query}?b=2&a=1"),
                self._at(f"{query}?a=1&b=2"),
                self._at(f"{query}?b=2&a=1&{TRACKING}=x"),
            ),
            self._page(self._at(f"/www/{name}"), self._at(f"/www/{name}", "www.site.test")),
            self._page(self._at(f"/{name}", "sub.site.test")),
            self._page(self._at(f"/{name}", "other.test")),
            self._redirects(f"/moved/{name}", 1),
            self._redirects(f"/hops/{name}", HOPS),
            self._page(self._at(f"/private/{name}")),
            self._page(self._at(f"/nofollow/{name}"), nofollow=True),
            self._page(self._at(f"/missing/{name}"), status=404),
        ]
        return [*kinds, self._page(self._at("/flaky"), failures=2)] if name == FLAKY else kinds

    def _page(
        self, canonical: str, *others: str, nofollow: bool = False, failures: int = 0, status: int = 200
    ) -> tuple[list[str], Answer]:
        page = self.answers[canonical] = Answer(status, nofollow=nofollow, failures=failures)
        for other in others:
            self.answers[other] = Answer(301, location=canonical)
        return [canonical, *others], page

    def _redirects(self, path: str, hops: int) -> tuple[list[str], Answer]:
        """Redirects in a row to a page that nothing else leads to."""
        places = [self._at(f"{path}/{hop}") for hop in range(hops + 1)]
        for here, there in pairwise(places):
            self.answers[here] = Answer(self._rng.choice((301, 302, 303, 307, 308)), location=there)
        page = self.answers[places[-1]] = Answer()
        return places[:1], page

    def _add_chain(self) -> None:
        links = [self._at(f"/deep/{depth}") for depth in range(1, CHAIN + 1)]
        self.answers[self.seeds[0]].links.append(links[0])
        for here, there in zip(links, [*links[1:], ""], strict=True):
            self.answers[here] = Answer(links=[there] if there else [])

    def sites(self) -> Sites:
        sites: dict[str, dict[str, Page | Handler]] = {host: {} for host in NAMES}
        for address, answer in self.answers.items():
            parts = urlsplit(address)
            sites[parts.hostname or ""][_target(parts)] = _served(answer)
        for host, site in sites.items():
            rules = Page(b"User-agent: *\nDisallow: /private/", content_type="text/plain")
            site["/robots.txt"] = Page(status=500) if host == "mute.test" else rules
        return sites


def _target(parts: SplitResult) -> str:
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _served(answer: Answer) -> Page | Handler:
    if answer.location:
        return moved(answer.location, answer.status)
    page = html(*answer.links, head=NOFOLLOW if answer.nofollow else "", status=answer.status)
    if not answer.failures:
        return page

    def flaky(request: Request) -> Page:
        return Page(status=500) if request.nth < answer.failures else page

    return flaky


# --- the oracle


def identity(address: str, rules: Rules) -> str:
    parts = urlsplit(address)
    host, path, query = parts.netloc, parts.path, parts.query
    if rules.fold_www:
        host = host.removeprefix("www.")
    if rules.strip_slash and path != "/":
        path = path.rstrip("/")
    if rules.sort_query:
        query = "&".join(sorted(query.split("&"), key=lambda part: part.partition("=")[0]))
    if rules.strip_tracking:
        query = "&".join(part for part in query.split("&") if not part.startswith(TRACKING))
    return urlunsplit((parts.scheme, host, path, query, ""))


def in_scope(address: str, rules: Rules) -> bool:
    host = urlsplit(address).hostname or ""
    if host in ("site.test", "www.site.test", "mute.test") or rules.scope == "any":
        return True
    return rules.scope == "same_domain" and host.endswith(".site.test")


def same_host(address: str, other: str) -> bool:
    """By the politeness key."""
    hosts = {(urlsplit(each).hostname or "").removeprefix("www.") for each in (address, other)}
    return len(hosts) == 1


Result = dict[str, tuple[str, str]]  # URL -> state and reason


def expected(web: ProfiledWeb, rules: Rules) -> Result:
    """Breadth first through the model."""
    found: Result = {}
    queue: deque[tuple[str, int, int]] = deque()  # address, depth, hops

    def admit(address: str, depth: int, hops: int = 0) -> None:
        url = identity(address, rules)
        if depth <= rules.max_depth and in_scope(address, rules) and url not in found:
            found[url] = ("queued", "")
            queue.append((address, depth, hops))

    for seed in web.seeds:
        admit(seed, 0)
    while queue:
        address, depth, hops = queue.popleft()
        url = identity(address, rules)
        if depth == rules.max_depth and not rules.fetch_at_max_depth:
            found[url] = ("excluded", "depth")
        elif rules.robots and "/private/" in address:
            found[url] = ("excluded", "robots")
        elif rules.robots and "mute.test" in address and not rules.mute_robots_allow:
            found[url] = ("excluded", "robots_unreachable")
        else:
            address, hops = _followed(web, address, hops, rules)
            found[url] = _ended(web.answers[address], address, hops, rules)
            answer = web.answers[address]
            if found[url] == ("redirected", "") and rules.redirects != "record":
                admit(answer.location, depth, hops + 1)
            if found[url][0] == "visited" and not (rules.robots and answer.nofollow):
                for link in answer.links:
                    admit(link, depth + 1)
    return found


def _followed(web: ProfiledWeb, address: str, hops: int, rules: Rules) -> tuple[str, int]:
    """Where the redirects end that are followed inside a visit, and how many have led there."""
    while target := web.answers[address].location:
        if identity(target, rules) != identity(address, rules):
            if rules.redirects != "follow" or hops == rules.max_hops or not same_host(address, target):
                break
            hops += 1
        address = target
    return address, hops


def _ended(answer: Answer, address: str, hops: int, rules: Rules) -> tuple[str, str]:
    if answer.location:
        if not in_scope(answer.location, rules):
            return "redirected", "redirect_out_of_scope"
        return "redirected", "redirect_loop" if hops == rules.max_hops else ""
    if answer.status == 404:
        return "not_found", ""
    return ("http_error", "http_5xx") if answer.failures >= rules.tries else ("visited", "")
