"""From a response to what the crawl needs of it: one function, the same on the event loop and in a helper process."""

from dataclasses import dataclass, field

from nephila.extract.directives import directives_of
from nephila.extract.encoding import charset_of
from nephila.extract.html import HtmlPage, extract_html
from nephila.models import Refusal
from nephila.urls.admission import Admission, Admitted, Found

ROBOTS_CHARS_MAX = 500
SNIFF_BYTES = 512

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_UNKNOWN_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
# How HTML begins (WHATWG MIME sniffing, 7.1); each ends with a space or `>`, the comment with anything.
_HTML_NAMES = b"!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p".split(b"|")
_HTML_STARTS = (b"<!--", *(b"<" + name + end for name in _HTML_NAMES for end in (b" ", b">")))

_FACTS = ("description", "keywords", "language", "canonical", "next", "refresh")


@dataclass(slots=True)
class PageJob:
    body: bytes  # decoded
    url: str
    content_type: str | None
    depth_of_children: int
    expand: bool = True  # False: no links wanted
    x_robots_tags: tuple[str, ...] = ()


@dataclass(slots=True)
class PageReading:
    charset: str
    title: str | None = None
    facts: dict[str, object] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    refused: dict[tuple[str, Refusal], int] = field(default_factory=dict)
    refused_urls: list[str] = field(default_factory=list)
    nofollow: bool = False


def is_html(content_type: str | None, body: bytes) -> bool:
    """By its type; where that is missing or says nothing, by how it begins."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type in _HTML_TYPES:
        return True
    if media_type not in _UNKNOWN_TYPES and "/" in media_type:
        return False
    start = body[:SNIFF_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\f\r ")
    return start.lower().startswith(_HTML_STARTS)


def read_page(job: PageJob, admission: Admission, *, obey_robots_meta: bool) -> PageReading:
    return judged(page_of(job), job, admission, obey_robots_meta=obey_robots_meta)


def page_of(job: PageJob) -> HtmlPage:
    """What it says. Cheap, but its links may be many: to judge one takes up to 75 us."""
    return extract_html(job.body, job.url, charset_of(job.content_type))


def judged(page: HtmlPage, job: PageJob, admission: Admission, *, obey_robots_meta: bool) -> PageReading:
    reading = PageReading(page.charset, page.title, _facts(page, job.x_robots_tags))
    if obey_robots_meta:
        directives = directives_of(page.meta_robots, job.x_robots_tags)
        reading.nofollow = directives.nofollow
        if directives.noindex:
            reading.facts["noindex"] = True
    if job.expand:
        admitted = _admitted(page, reading.nofollow, job.depth_of_children, admission)
        reading.found, reading.refused = admitted.found, admitted.refused
        reading.refused_urls = admitted.refused_urls
    return reading


def _admitted(page: HtmlPage, nofollow: bool, depth: int, admission: Admission) -> Admitted:
    links = [(href, True) for href, _ in page.links] if nofollow else page.links
    return admission.judge_links(links, page.base, depth)


def _facts(page: HtmlPage, x_robots_tags: tuple[str, ...]) -> dict[str, object]:
    """Only those that are there."""
    facts: dict[str, object] = {name: value for name in _FACTS if (value := getattr(page, name)) is not None}
    if page.meta_robots or x_robots_tags:
        facts["robots"] = "; ".join([*page.meta_robots, *x_robots_tags])[:ROBOTS_CHARS_MAX]
    return facts
