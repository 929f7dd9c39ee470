"""Seeded random sites whose crawl result the generator itself computes, from its model and never by crawling."""

import os
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from ipaddress import IPv4Address
from typing import Any

from nephila.models import UrlState
from tests.site.server import DEFAULT_HOST, Page, Sites

DEFAULT_SEEDS = (42424, 91817)
SIZES = {"default": 11, "medium": 120, "stress": 2000, "stress_large": 5000}

SEGMENT_PAGES_MAX = 12
DENSE_LINKS = 55  # T-03 wants dense pages: more links than the small graphs have pages, so targets repeat
REDIRECTS_IN_A_ROW_MAX = 3  # below every profile's redirects.max_hops, so that no hop is refused
REDIRECT_CODES = (301, 302, 303, 307, 308)
EXTERNAL_HOST = "127.254.0.1"
SHAPES = ("ring", "chain", "dense", "star")


def seeds_under_test() -> tuple[int, ...]:
    """TEST_GRAPH_SEED runs one graph again, for instance that of a failure."""
    chosen = os.environ.get("TEST_GRAPH_SEED")
    return (int(chosen),) if chosen else DEFAULT_SEEDS


@dataclass(slots=True)
class Node:
    """A URL of the model. `links` are out-links in document order, repeats included; a redirect has one."""

    host: str
    path: str
    state: UrlState
    links: list["Node"] = field(default_factory=list)
    external: list[str] = field(default_factory=list)
    hops: int = 0  # redirects from here to a page

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True, slots=True)
class GeneratedGraph:
    label: str  # has the seed: for test ids and failure messages
    sites: Sites
    seeds: tuple[str, ...]
    expected: dict[str, tuple[UrlState, int]]  # url -> state and BFS distance (a redirect's target is as far as itself)
    settings: dict[str, Any]  # overrides on the default profile

    @property
    def expected_states(self) -> dict[str, UrlState]:
        """Without depth: a parallel crawl keeps the depth of the FIRST discovery, which may exceed the distance."""
        return {url: state for url, (state, _) in self.expected.items()}

    def mismatches(self, states: Mapping[str, str]) -> list[str]:
        """A crawl's states against the expected ones, one line per difference, each with the seed in it."""
        wanted = self.expected_states
        return [
            f"{self.label}: {url} is {states.get(url, 'missing')}, expected {wanted.get(url, 'not to be there')}"
            for url in sorted(wanted.keys() | states.keys())
            if states.get(url) != wanted.get(url)
        ]


def generate(seed: int, pages: int, port: int, hosts: int = 1, host: str = DEFAULT_HOST) -> GeneratedGraph:
    """Each host's first page is a seed, so the default scope (same_host over all seeds) holds them all."""
    assert 1 <= hosts <= (pages - 1) // 10, "too small to hold every shape"
    names = [host] if hosts == 1 else [str(IPv4Address(host) + at) for at in range(hosts)]
    model = Model(random.Random(f"{seed}/{pages}/{hosts}"), names, pages)
    roots = model.pages[:hosts]
    return GeneratedGraph(
        label=f"TEST_GRAPH_SEED={seed} pages={pages} hosts={hosts}",
        sites=render(model, port),
        seeds=tuple(url_of(node, port) for node in roots),
        expected={url_of(node, port): (node.state, depth) for node, depth in distances(roots).items()},
        # Nothing is cut by depth: the longest path that a parallel crawl might take is all of the pages.
        settings={
            "scope.max_depth": pages + hosts,
            "polite.floor_ms": 0,
            "polite.adaptive": False,
            "fetch.allow_private": True,
        },
    )


def url_of(node: Node, port: int) -> str:
    return f"http://{node.host}:{port}{node.path}"


def distances(roots: list[Node]) -> dict[Node, int]:
    """Links away from the roots, breadth first; redirects are edges of length 0 and go to the head of the queue."""
    found: dict[Node, int] = {}
    queue = deque((root, 0) for root in roots)
    while queue:
        node, depth = queue.popleft()
        if node in found:
            continue
        found[node] = depth
        if node.state is UrlState.REDIRECTED:
            queue.appendleft((node.links[0], depth))
        else:
            queue.extend((target, depth + 1) for target in node.links)
    return found


class Model:
    """Segments of pages, each in one shape and entered from an earlier page; then what makes a web untidy."""

    def __init__(self, rng: random.Random, hosts: list[str], count: int) -> None:
        self.rng = rng
        self.hosts = hosts
        self.pages = [self._node(at, self._page_path(at), UrlState.VISITED) for at in range(count)]
        unlinked = count // 20  # served, but nothing leads there: they must not be in the result
        self.linked = self.pages[: count - unlinked]
        self.missing = [self._node(at, f"/missing/{at}", UrlState.NOT_FOUND) for at in range(max(1, count // 15))]
        self.redirects: list[Node] = []
        self._shape_segments()
        self._add_redirects(max(3, count // 12))
        self._litter()

    def _node(self, at: int, path: str, state: UrlState) -> Node:
        return Node(self.hosts[at % len(self.hosts)], path, state)

    def _page_path(self, at: int) -> str:
        if at < len(self.hosts):
            return "/"
        return f"/p/{at}?v={at}" if self.rng.random() < 0.1 else f"/p/{at}"

    def _shape_segments(self) -> None:
        start, turn = len(self.hosts), 0
        longest = min(SEGMENT_PAGES_MAX, max(3, len(self.linked) // 4))
        while start < len(self.linked):
            segment = self.linked[start : start + self.rng.randint(3, longest)]
            self.rng.choice(self.linked[:start]).links.append(segment[0])
            self._shape(SHAPES[turn % len(SHAPES)], segment)
            start, turn = start + len(segment), turn + 1

    def _shape(self, shape: str, segment: list[Node]) -> None:
        first, rest = segment[0], segment[1:]
        if shape in ("ring", "chain"):
            for here, there in zip(segment, rest, strict=False):
                here.links.append(there)
            if shape == "ring":
                segment[-1].links.append(first)
            return
        first.links.extend(rest)
        if shape == "dense":
            first.links.extend(self.rng.choices(self.linked, k=DENSE_LINKS))
            for node in rest:
                node.links.append(first)

    def _add_redirects(self, count: int) -> None:
        for at in range(count):
            node = self._node(at, f"/r/{at}", UrlState.REDIRECTED)
            target = self._redirect_target(at)
            node.links, node.hops = [target], target.hops + 1
            self.redirects.append(node)
            self.rng.choice(self.linked).links.append(node)

    def _redirect_target(self, at: int) -> Node:
        """A target: the second redirect leads to the first, later ones to any page, also to a missing one."""
        chained = [node for node in self.redirects[-5:] if node.hops < REDIRECTS_IN_A_ROW_MAX]
        if at == 1 or (chained and self.rng.random() < 0.3):
            return self.rng.choice(chained)
        return self.rng.choice(self.missing if self.rng.random() < 0.1 else self.linked)

    def _litter(self) -> None:
        """Add loops, repeats and the like: each at least once, on larger sites to about one page in eight."""
        for node in self._some():
            node.links.append(node)
        for node in self._some():
            node.links.extend([self.rng.choice(self.linked)] * 3)
        for node in self._some():
            node.external.append(f"/out/{self.rng.randrange(100)}")
        for gone in self.missing:
            for node in self.rng.choices(self.linked, k=2):
                node.links.append(gone)
        for node in self.linked:
            if node.links:
                self.rng.shuffle(node.links)

    def _some(self) -> list[Node]:
        return self.rng.sample(self.linked, k=max(1, len(self.linked) // 8))


def render(model: Model, port: int) -> Sites:
    sites: dict[str, dict[str, Page]] = {host: {} for host in model.hosts}
    for node in model.pages:
        sites[node.host][node.path] = Page(_html(model.rng, node, port))
    for node in model.redirects:
        location = spell(model.rng, node, node.links[0], port)
        sites[node.host][node.path] = Page(
            status=model.rng.choice(REDIRECT_CODES), headers=(("Location", location.strip()),)
        )
    return sites


def _html(rng: random.Random, node: Node, port: int) -> bytes:
    hrefs = [spell(rng, node, target, port) for target in node.links]
    hrefs += [f"http://{EXTERNAL_HOST}:{port}{path}" for path in node.external]
    anchors = "\n".join(f'<a href="{escape(href)}">x</a>' for href in hrefs)
    return f"<!doctype html><title>{escape(node.path)}</title>\n{anchors}\n".encode()


def spell(rng: random.Random, source: Node, target: Node, port: int) -> str:
    """One of the ways to write the same URL: scheme case, port, dot segments, fragments, spaces, relative forms."""
    path = target.path
    forms = [
        f"http://{target.host}:{port}{path}",
        f"HTTP://{target.host.upper()}:{port}{path}",
        f"http://{target.host}:0{port}{path}",
        f"//{target.host}:{port}/./x/..{path}",
        f"  http://{target.host}:{port}{path}#part-{rng.randrange(9)} ",
    ]
    if source.host == target.host:
        forms += [path, f"{path}#top", f"/a/b/../..{path}", f"/.{path}", f"{'../' * source.path.count('/')}.{path}"]
    return rng.choice(forms)
