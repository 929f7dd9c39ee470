"""What a page says: its links in document order and the facts in its head. Only a lack of memory makes it raise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nephila.extract.encoding import UTF8, utf8_of
from nephila.extract.queries import in_page_encoding
from nephila.extract.tags import FOREIGN_LINK, TagMemory, attributes_of, find_tags, text_of_title
from nephila.urls.normalize import parse as parse_url

LINKS_MAX = 20_000
TITLE_CHARS_MAX = 1024
FACT_CHARS_MAX = 2048
URL_CHARS_MAX = 4096  # of a recorded canonical, next or refresh
ROBOTS_VALUES_MAX = 50

_SPACE = "\t\n\f\r "
_ROBOTS_NAMES = frozenset({"robots", "nephila"})

_Link = tuple[str, bool]  # (href, its query in the encoding of the page; nofollow)


@dataclass(slots=True)
class HtmlPage:
    charset: str
    base: str  # what links are resolved against
    title: str | None = None
    description: str | None = None
    keywords: str | None = None
    language: str | None = None
    canonical: str | None = None
    next: str | None = None
    refresh: str | None = None
    meta_robots: list[str] = field(default_factory=list)
    links: list[_Link] = field(default_factory=list)
    requisites: Sequence[str] = ()  # references to what it needs, where they are wanted


def extract_html(body: bytes, url: str, header_charset: str | None = None) -> HtmlPage:
    html, charset = utf8_of(body, header_charset)
    page = HtmlPage(charset, url)
    links, anchors = page.links, _anchors
    based = False
    tags = find_tags(html)
    crowded = len(tags) > LINKS_MAX  # else there cannot be too many links: no tag brings more than one
    for href, name, attributes, frame, title, _ in tags:
        if href:
            links.append((href.decode("utf-8", "replace"), False))
        elif name == b"a":
            if (link := anchors[attributes]) is not None:
                links.append(link)
        elif name:
            tag = name.lower()
            if tag == b"base":
                if not based and (said := _attributes[attributes].get("href")) is not None:
                    based, page.base = True, _base(in_page_encoding(said, charset), url)
            else:
                _READERS[tag](attributes, page)
        elif frame:
            _read_frame(frame, page)
        elif title and page.title is None:
            page.title = _fact(text_of_title(title[: 8 * TITLE_CHARS_MAX]), TITLE_CHARS_MAX)
        if crowded and len(links) >= LINKS_MAX:
            break
    if charset != UTF8:
        _encode_queries(page)
    return page


def _encode_queries(page: HtmlPage) -> None:
    """Of all addresses, where the page is in another encoding than UTF-8."""
    links, charset = page.links, page.charset
    if not "".join([href for href, _ in links]).isascii():
        page.links = [(in_page_encoding(href, charset), nofollow) for href, nofollow in links]
    for fact in ("canonical", "next", "refresh"):
        if (href := getattr(page, fact)) is not None:
            setattr(page, fact, in_page_encoding(href, charset))


def _anchor(raw: bytes) -> _Link | None:
    attributes = attributes_of(raw)
    href = attributes.get("href")
    return None if href is None else (href.strip(_SPACE), "nofollow" in attributes.get("rel", "").lower().split())


# Two memories: links are many, and would push the tags of every page's head out of a common one.
_anchors, _attributes = TagMemory(_anchor), TagMemory(attributes_of)


def _base(href: str, url: str) -> str:
    """The first base element counts, and only if it is a URL that pages can have."""
    base = parse_url(href.strip(_SPACE), url)
    return url if base is None or base.startswith(("data:", "javascript:")) else base


def _read_anchor(raw: bytes, page: HtmlPage) -> None:
    if (link := _anchors[raw]) is not None:
        page.links.append(link)


def _read_foreign_link(raw: bytes, page: HtmlPage) -> None:
    attributes = _attributes[raw]
    href = attributes.get("href", attributes.get("xlink:href"))
    if href is not None:
        page.links.append((href.strip(_SPACE), "nofollow" in attributes.get("rel", "").lower().split()))


def _read_language(raw: bytes, page: HtmlPage) -> None:
    attributes = _attributes[raw]
    page.language = page.language or _fact(attributes.get("lang") or attributes.get("xml:lang"), FACT_CHARS_MAX)


def _read_link(raw: bytes, page: HtmlPage) -> None:
    attributes = _attributes[raw]
    href = attributes.get("href", "").strip(_SPACE)
    rels = attributes.get("rel", "").lower().split()
    if not href:
        return
    if "canonical" in rels:
        page.canonical = page.canonical or href[:URL_CHARS_MAX]
    elif "next" in rels:
        page.next = page.next or href[:URL_CHARS_MAX]
    else:
        return
    page.links.append((href, "nofollow" in rels))


def _read_frame(raw: bytes, page: HtmlPage) -> None:
    src = _attributes[raw].get("src", "").strip(_SPACE)
    if src:
        page.links.append((src, False))


def _read_meta(raw: bytes, page: HtmlPage) -> None:
    attributes = _attributes[raw]
    content = attributes.get("content")
    if content is None:
        return
    name = attributes.get("name", "").strip(_SPACE).lower()
    if name == "description":
        page.description = page.description or _fact(content, FACT_CHARS_MAX)
    elif name == "keywords":
        page.keywords = page.keywords or _fact(content, FACT_CHARS_MAX)
    elif name in _ROBOTS_NAMES and len(page.meta_robots) < ROBOTS_VALUES_MAX:
        page.meta_robots.append(content[:FACT_CHARS_MAX])
    if attributes.get("http-equiv", "").lower() == "refresh":
        _read_refresh(content, page)


def _read_refresh(content: str, page: HtmlPage) -> None:
    target = refresh_target(content)
    if target is not None:
        page.refresh = page.refresh or target[:URL_CHARS_MAX]
        page.links.append((target, False))


def _fact(text: str | None, chars_max: int) -> str | None:
    """The text, folded and bounded, or None. It is cut before folding, too: a title may be the whole page."""
    return " ".join(text[: 8 * chars_max].split())[:chars_max] or None if text else None


def refresh_target(content: str) -> str | None:
    """The URL in the content of a refresh (the standard's shared declarative refresh steps); None: the page itself."""
    text = content.lstrip(_SPACE)
    rest = text.lstrip("0123456789")
    if rest == text and text[:1] != ".":
        return None
    rest = rest.lstrip("0123456789.")
    if rest[:1] not in _AFTER_TIME:
        return None
    rest = rest.lstrip(_SPACE)
    if rest[:1] in (";", ","):
        rest = rest[1:].lstrip(_SPACE)
    target = _unquoted(_after_url_is(rest)).strip(_SPACE)
    return target or None


_AFTER_TIME = frozenset(";,\t\n\f\r ")


def _after_url_is(text: str) -> str:
    """What follows `url =`; the whole text where that is not how it begins."""
    if text[:3].lower() != "url":
        return text
    rest = text[3:].lstrip(_SPACE)
    return rest[1:].lstrip(_SPACE) if rest[:1] == "=" else text


def _unquoted(text: str) -> str:
    quote = text[:1]
    return text[1:].partition(quote)[0] if quote in ('"', "'") and quote else text


_READERS: dict[bytes, Callable[[bytes, HtmlPage], None]] = {
    b"a": _read_anchor,
    b"area": _read_anchor,
    b"frame": _read_frame,
    FOREIGN_LINK: _read_foreign_link,
    b"html": _read_language,
    b"link": _read_link,
    b"meta": _read_meta,
}
