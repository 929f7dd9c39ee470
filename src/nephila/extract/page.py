"""From a body to its reading. The same functions run on the event loop and in a helper process."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nephila.extract.css import css_text
from nephila.extract.directives import directives_of
from nephila.extract.encoding import UTF8, charset_of
from nephila.extract.html import HtmlPage, extract_html
from nephila.extract.listed import sitemap_reading
from nephila.extract.reader import PageReading, ReadAs
from nephila.extract.requisites import css_requisites, html_requisites
from nephila.fetch.body import Decoded, undo
from nephila.models import media_type
from nephila.urls.admission import REFUSED_URLS_MAX, Admission, Admitted

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
    body: bytes  # coded as `codings` say
    url: str
    content_type: str | None
    depth_of_children: int
    x_robots_tags: tuple[str, ...] = ()
    codings: Sequence[str] = ()  # in the order in which they are undone
    body_bytes_max: int = 1 << 62  # decoded bodies are cut here
    needed_by: str = ""  # politeness key of the host whose requisites are wanted; empty: none are
    read_as: ReadAs = "page"
    speaks_for: str = ""  # of a sitemap: as Admission.judge_listed


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether content is HTML: by its type, or by how it begins where the type is missing or says nothing."""
    named = media_type(content_type)
    if named in _HTML_TYPES:
        return True
    if named not in _UNKNOWN_TYPES and "/" in named:
        return False
    start = body[:SNIFF_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\f\r ")
    return start.lower().startswith(_HTML_STARTS)


def is_css(content_type: str | None, url: str) -> bool:
    """Whether content is a stylesheet: by its type, or by how its URL ends where the type says nothing."""
    named = media_type(content_type)
    return named == "text/css" or (named in _UNKNOWN_TYPES and url.partition("?")[0].lower().endswith(".css"))


def is_read(job: PageJob) -> bool:
    """Whether anything is read of a decoded body."""
    return job.read_as == "stylesheet" or (job.read_as == "page" and is_html(job.content_type, job.body))


def read_page(job: PageJob, admission: Admission, *, obey_robots_meta: bool) -> PageReading:
    """Undo the codings, hash what they hid, and read it if it is HTML. The decoded body itself is not answered."""
    decoded = undo(job.codings, job.body, job.body_bytes_max)
    reading, page = PageReading(), replace(job, body=decoded.body)
    if job.read_as == "sitemap":
        reading = sitemap_reading(
            page.body, page.url, page.content_type, page.depth_of_children, page.speaks_for, admission
        )
    elif is_read(page):
        reading = judged(page_of(page), page, admission, obey_robots_meta=obey_robots_meta)
    if decoded.body is not job.body:
        reading.content_hash = hashlib.sha256(decoded.body).digest()
    note_decoded(reading, decoded)
    return reading


def note_decoded(reading: PageReading, decoded: Decoded) -> None:
    """Say what became of the body when it was decoded."""
    reading.body_bytes, reading.problem = len(decoded.body), ""
    if decoded.truncated:
        reading.truncated, reading.problem = "length", decoded.problem
    elif decoded.short:
        reading.truncated, reading.problem = "coding", decoded.problem


def page_of(job: PageJob) -> HtmlPage:
    """What the page says. Cheap, unlike `judged`: a page may have many links, and to judge one takes up to 75 us."""
    charset = charset_of(job.content_type)
    if job.read_as == "stylesheet":
        return HtmlPage(UTF8, job.url, requisites=css_requisites(css_text(job.body, charset)))
    page = extract_html(job.body, job.url, charset)
    if job.needed_by:
        page.requisites = html_requisites(job.body, charset)
    return page


def judged(page: HtmlPage, job: PageJob, admission: Admission, *, obey_robots_meta: bool) -> PageReading:
    facts, nofollow = _facts(page, job.x_robots_tags), False
    if obey_robots_meta:
        directives = directives_of(page.meta_robots, job.x_robots_tags)
        nofollow = directives.nofollow
        if directives.noindex:
            facts["noindex"] = True
    links = [(href, True) for href, _ in page.links] if nofollow else page.links
    found = admission.judge_links(links, page.base, job.depth_of_children)
    reading = PageReading(page.charset, page.title, facts, found.found, found.refused, found.refused_urls, nofollow)
    reading.examples = found.examples
    if page.requisites:
        needed = admission.judge_requisites(page.requisites, page.base, job.needed_by)
        _add_needed(reading, needed)
    return reading


def _add_needed(reading: PageReading, needed: Admitted) -> None:
    reading.requisites = needed.found
    for kind, count in needed.refused.items():
        reading.refused[kind] = reading.refused.get(kind, 0) + count
    reading.refused_urls = (reading.refused_urls + needed.refused_urls)[:REFUSED_URLS_MAX]
    reading.examples = reading.examples + needed.examples


def _facts(page: HtmlPage, x_robots_tags: tuple[str, ...]) -> dict[str, object]:
    """The facts that the page states."""
    facts: dict[str, object] = {name: value for name in _FACTS if (value := getattr(page, name)) is not None}
    if page.meta_robots or x_robots_tags:
        facts["robots"] = "; ".join([*page.meta_robots, *x_robots_tags])[:ROBOTS_CHARS_MAX]
    return facts
