"""Sitemaps: where they are looked for, and the visit of one. What it lists is delivered in chunks, each in a
transaction of its own; the row ends with the last. After a kill the row is open and is asked for again: known URLs
are ignored.

`raw` of such a row says for which host it speaks beside its own: a politeness key (its robots.txt names the sitemap),
EVERY_HOST (the crawl was started with it), or nothing (it was looked for at its usual place). What an index lists, and
what a sitemap redirects to, speaks for the same.
"""

from collections.abc import Iterable

from nephila.extract.listed import Listed, unpacked_entries
from nephila.extract.reader import PageReading, ParseFailure
from nephila.extract.sitemap import SITEMAP_BYTES_MAX, SitemapFormat, SitemapProblem
from nephila.frontier.store import Row, SitemapEntry
from nephila.models import Child, Kind, Reason, UrlState
from nephila.policy.priority import priority_of
from nephila.policy.robots_gate import RobotsGate
from nephila.urls.blocks import Blocks
from nephila.urls.identity import host_of
from nephila.worker.crawls import LiveCrawl
from nephila.worker.scheduler import Host
from nephila.worker.visit import (
    Deliver,
    Read,
    Steps,
    Visit,
    ask,
    crashed,
    ended,
    read_request,
    speaks_for,
    unblocked,
)

USUAL_PLACE = "/sitemap.xml"
PAGE_DEPTH = 1  # of what sitemaps list: a step from a seed, as a link of its page
NESTED_MAX = 3  # indexes in indexes; the protocol allows none
REASONS = {SitemapProblem.NOT_SITEMAP: Reason.NOT_SITEMAP, SitemapProblem.UNSAFE: Reason.UNSAFE_SITEMAP}


def looked_for(crawl: LiveCrawl, origin: str, gate: RobotsGate | None, *, seed: bool) -> Visit:
    """The sitemaps of an origin as children: those that its robots.txt names; `seed` (the origin is that of a seed)
    and none is named: the one at its usual place."""
    visit, host = Visit(), host_of(origin + "/")
    named = gate.file.sitemaps if gate is not None and gate.file is not None else ()
    places: list[tuple[str, str | None]] = [(raw, host) for raw in named]
    if seed and not places:
        places = [(origin + USUAL_PLACE, None)]
    for raw, speaks in places:
        judgement = crawl.admission.judge_sitemap(raw, origin + "/", speaks or host)
        found = judgement.found
        if found is None:
            if judgement.refusal is not None:
                visit.refuse(host_of(judgement.url) if judgement.url else "", judgement.refusal, judgement.url or raw)
            continue
        place = (crawl.id, found.host, found.key, found.url, 0, priority_of(0, Kind.SITEMAP), None)
        visit.children.append(Child(*place, speaks, None, Kind.SITEMAP))
    return visit


def visit_sitemap(host: Host, crawl: LiveCrawl, row: Row) -> Steps:
    asked = yield from ask(host, crawl, row, SITEMAP_BYTES_MAX)
    if isinstance(asked, Visit):
        return asked
    answer, change = asked
    request = read_request(host, crawl, row, answer.result, "sitemap")
    request.body_bytes_max, request.speaks_for, request.depth_of_children = (
        SITEMAP_BYTES_MAX,
        speaks_for(row),
        PAGE_DEPTH,
    )
    reading: PageReading | ParseFailure = yield Read(request, change)
    if isinstance(reading, ParseFailure):
        return crashed(crawl, row, answer.result, reading)
    told = reading.sitemap
    assert told is not None, "what is read as a sitemap has one"
    visit, kind = Visit(refusals=reading.refused, examples=reading.examples, links=told.admitted), Kind.PAGE
    if told.format == SitemapFormat.INDEX:
        kind = Kind.SITEMAP
        if row.depth >= NESTED_MAX:
            told.problem, told.detail, told.chunks = "nested", f"an index {NESTED_MAX} deep in others", []
    children: list[Child] = []
    entries: list[SitemapEntry] = []
    for chunk in told.chunks:
        if children:
            yield Deliver(children, entries, len(answer.result.body))
        listed = _unblocked(unpacked_entries(chunk), answer.blocks, visit)
        children, entries = _children(crawl, row, listed, kind), _entries(crawl, row, listed)
    problem = f"{told.problem}: {told.detail}" if told.problem else None
    reason = (
        REASONS.get(SitemapProblem(told.problem), Reason.NONE) if told.problem in set(SitemapProblem) else Reason.NONE
    )
    known = {"format": told.format or None, "entries": told.entries, "admitted": told.admitted, "problem": problem}
    reading.facts["sitemap"] = {name: value for name, value in known.items() if value is not None} | told.noted
    visit.ending = ended(
        crawl, row, answer.result, UrlState.VISITED, reason, reading=reading, children=children, error=problem
    )
    visit.entries = entries
    return visit


def _children(crawl: LiveCrawl, row: Row, listed: Iterable[Listed], kind: Kind) -> list[Child]:
    """The depth of a sitemap says how many indexes it lies in."""
    nested = kind is Kind.SITEMAP
    depth = row.depth + 1 if nested else PAGE_DEPTH
    place = (depth, priority_of(depth, kind), row.id)
    return [
        Child(
            crawl.id, found.host, found.key, found.url, *place, row.raw if nested else found.raw, found.spelling, kind
        )
        for found, _, _, _ in listed
    ]


def _entries(crawl: LiveCrawl, row: Row, listed: Iterable[Listed]) -> list[SitemapEntry]:
    return [
        SitemapEntry(crawl.id, found.host, found.key, row.id, lastmod, priority, notes)
        for found, lastmod, priority, notes in listed
    ]


def _unblocked(listed: list[Listed], blocks: Blocks, visit: Visit) -> list[Listed]:
    if not blocks:
        return listed
    kept = set(unblocked([each.found for each in listed], blocks, visit))
    return [each for each in listed if each.found in kept]
