"""Sitemaps: XML, indexes of sitemaps, RSS, Atom, and lists of URLs as text. Bytes go in, entries come out in chunks.

Streaming and linear: nothing is built of a file but the entries of one chunk. Lenient about namespaces, charsets and
what stands around an entry; what is broken ends the file, and what came before it counts. A DTD ends it as unsafe:
entities that a file declares itself have no place in a sitemap.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz
from enum import StrEnum
from itertools import chain
from typing import Any, NamedTuple
from xml.parsers import expat

from nephila.extract.encoding import UTF8, codec_of
from nephila.fetch.body import GZIP_MAGIC, undo

URLS_MAX = 50_000  # of one file: the protocol's limit. What follows is not read
SITEMAP_BYTES_MAX = 52_428_800  # decoded: the protocol's limit, too
ENTRIES_AT_ONCE = 1_000  # of one chunk
FEED_BYTES = 65_536  # given to the parser at once
TOKEN_BYTES_MAX = 262_144  # a tag or comment that is longer ends the file: each feed reads an open one again
NESTED_MAX = 100  # open elements: each costs memory until it ends
TEXT_CHARS_MAX = 8_192  # of one field; of a longer one the rest is not looked at
NOTE_CHARS_MAX = 300  # of what is kept of a field beside the URL
NOTED_MAX = 10  # alternates, images, videos and news of one URL that are kept
LINE_CHARS_MAX = 65_536  # of a list of URLs: what is left of a longer line is another line
TIME_CHARS_MAX = 64
YEARS = range(1990, 2101)  # of a lastmod: others are mistakes


class SitemapFormat(StrEnum):
    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"  # 0.9 to 2.0
    ATOM = "atom"
    TEXT = "text"


class SitemapProblem(StrEnum):
    """What ended a file before its end; what came before it counts."""

    UNSAFE = "unsafe"  # a DTD, which may declare entities
    BROKEN = "broken"  # not well-formed, cut off, or beyond what anybody writes
    NOT_SITEMAP = "not_sitemap"  # none of the formats
    TOO_MANY = "too_many"  # more URLs than the protocol allows
    TOO_LARGE = "too_large"  # more bytes than the protocol allows


class SiteEntry(NamedTuple):
    """A page, or a sitemap of an index, as its sitemap has it."""

    loc: str  # as it is written
    lastmod: int | None = None  # ms since 1970
    priority: float | None = None  # 0 to 1, as the site sees it
    notes: dict[str, Any] | None = None  # changefreq, alternates, images, videos, news


class _Ended(Exception):
    """The file ends here. An exception of this module alone: a handler of expat cannot end it otherwise."""

    def __init__(self, problem: SitemapProblem, detail: str) -> None:
        super().__init__(detail)
        self.problem, self.detail = problem, detail


_ROOTS = {
    "urlset": SitemapFormat.URLSET,
    "sitemapindex": SitemapFormat.INDEX,
    "rss": SitemapFormat.RSS,
    "rdf": SitemapFormat.RSS,
    "feed": SitemapFormat.ATOM,
}
_ITEMS = {
    SitemapFormat.URLSET: "url",
    SitemapFormat.INDEX: "sitemap",
    SitemapFormat.RSS: "item",
    SitemapFormat.ATOM: "entry",
}
_FIELDS = {  # elements of an item whose text is wanted -> what it is
    SitemapFormat.URLSET: {"loc": "loc", "lastmod": "lastmod", "priority": "priority", "changefreq": "changefreq"},
    SitemapFormat.INDEX: {"loc": "loc", "lastmod": "lastmod"},
    SitemapFormat.RSS: {"link": "loc", "guid": "guid", "pubdate": "lastmod", "date": "lastmod"},
    SitemapFormat.ATOM: {"updated": "lastmod", "published": "published", "modified": "lastmod"},
}
# Elements of an item that have elements of their own: where they are kept, and which of them.
_BLOCKS = {
    "image": ("images", frozenset({"loc", "title", "caption", "license"})),
    "video": (
        "videos",
        frozenset({"title", "content_loc", "player_loc", "thumbnail_loc", "duration", "publication_date"}),
    ),
    "news": ("news", frozenset({"name", "language", "title", "publication_date", "keywords"})),
}
_FREQUENCIES = frozenset(["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"])
_LINE_END = re.compile(r"\r\n?|\n")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # that no XML may have
_ENCODING = re.compile(rb"<\?xml[^>]{0,200}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})[\"']")
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d\d?))?(?:-(\d\d?))?")
_ZONE = re.compile(r"(?:[+-]\d{4}|[A-Za-z]{1,5})\s*(?:\(.*\))?$")
_WEB = ("http://", "https://")


class SitemapFile:
    """One file. Iterating it yields its entries in chunks; afterwards the other fields say what it was."""

    def __init__(self, body: bytes, charset: str | None = None, bytes_max: int = SITEMAP_BYTES_MAX) -> None:
        self.format: SitemapFormat | None = None  # known with the first chunk
        self.problem: SitemapProblem | None = None
        self.detail = ""
        self.entries = 0
        self.noted: Counter[str] = Counter()  # alternates, images, videos and news of all entries, kept or not
        self._cut = ""  # what is wrong with the end of the body
        if body.startswith(GZIP_MAGIC):
            decoded = undo(("gzip",), body, bytes_max)
            body = decoded.body
            self._cut = decoded.problem or ("cut at the limit of bytes" if decoded.truncated else "")
        self._too_large = len(body) >= bytes_max
        self._body, self._charset = body[:bytes_max], charset

    def __iter__(self) -> Iterator[list[SiteEntry]]:
        found: list[SiteEntry] = []
        try:
            for entry in self._each():
                if self.entries == URLS_MAX:
                    raise _Ended(SitemapProblem.TOO_MANY, f"more than {URLS_MAX:,} URLs")
                self.entries += 1
                found.append(entry)
                if len(found) == ENTRIES_AT_ONCE:
                    yield found
                    found = []
        except _Ended as ended:
            self.problem, self.detail = ended.problem, ended.detail
        if self.problem in (None, SitemapProblem.BROKEN) and self._too_large:
            self.problem, self.detail = SitemapProblem.TOO_LARGE, "cut at the limit of bytes"
        elif self.problem is None and self._cut:
            self.problem, self.detail = SitemapProblem.BROKEN, self._cut
        if found:
            yield found

    def _each(self) -> Iterator[SiteEntry]:
        pieces = _texts(self._body, _codec(self._body, self._charset))
        first = next((text for piece in pieces if (text := piece.lstrip("\ufeff \t\r\n\f\v\xa0"))), "")
        if not first:
            raise _Ended(SitemapProblem.NOT_SITEMAP, "empty")
        if not first.startswith("<"):
            yield from self._lines(first, pieces)
            return
        parser = _Parser()
        self.noted = parser.noted
        try:
            for entry in parser.read(first, pieces):
                self.format = parser.format
                yield entry
        finally:
            self.format = parser.format

    def _lines(self, first: str, rest: Iterator[str]) -> Iterator[SiteEntry]:
        """One URL in each line. Lines that are none are passed over; a file without any URL is no sitemap."""
        found = False
        for line in _split(first, rest):
            text = line.strip().strip("\ufeff\u200b")
            if text[:8].lower().startswith(_WEB) and len(text) <= TEXT_CHARS_MAX:
                found, self.format = True, SitemapFormat.TEXT
                yield SiteEntry(text)
        if not found:
            raise _Ended(SitemapProblem.NOT_SITEMAP, "neither XML nor a list of URLs")


class _Parser:
    """XML of any of the formats: where we are, and the item that is being read."""

    def __init__(self) -> None:
        self.format: SitemapFormat | None = None
        self.noted: Counter[str] = Counter()
        self._found: list[SiteEntry] = []
        self._depth = 0
        self._names: dict[str, str] = {}  # tag -> its local name in small letters
        self._item_depth = 0  # 0: in no item
        self._field = ""  # whose text is being read
        self._field_depth = 0
        self._block: dict[str, str] | None = None
        self._block_depth = 0
        self._wanted: frozenset[str] = frozenset()  # fields of the block
        self._item_name = ""
        self._fields: dict[str, str] = {}
        self._text: list[str] = []
        self._chars = 0
        self._own: list[str] = []  # text of the item itself
        self._forget()
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = _entity

    def _forget(self) -> None:
        self._loc = self._guid = ""
        self._lastmod = self._published = ""
        self._priority = ""
        self._notes: dict[str, Any] = {}

    def read(self, text: str, rest: Iterator[str]) -> Iterator[SiteEntry]:
        fed, feed = 0, self._parser.Parse
        try:
            while True:
                data = _CONTROLS.sub("", text).encode(UTF8, "replace")
                fed += len(data)
                feed(data, False)
                if fed - self._parser.CurrentByteIndex > TOKEN_BYTES_MAX:
                    raise _Ended(SitemapProblem.BROKEN, f"a tag or comment of more than {TOKEN_BYTES_MAX:,} bytes")
                yield from self._take()
                last, text = text, next(rest, "")
                if not text:
                    break
            feed(b"", True)
        except expat.ExpatError as error:
            self._rescue(text or last)
            yield from self._take()
            problem = SitemapProblem.NOT_SITEMAP if self.format is None else SitemapProblem.BROKEN
            raise _Ended(problem, str(error)) from None
        except _Ended:
            yield from self._take()
            raise
        yield from self._take()

    def _take(self) -> list[SiteEntry]:
        found, self._found = self._found, []
        return found

    def _rescue(self, tail: str) -> None:
        """The file broke off inside an item: its URL counts if it was whole, so if another tag follows it."""
        if self._field == "loc" and self._block is None and tail.rfind("<") > tail.rfind(">"):
            self._loc = _stripped(self._text)
        if self._item_depth and self._loc:
            self._add()

    # --- what expat calls

    def _doctype(self, name: str, *_: object) -> None:
        if name.lower() == "html":
            raise _Ended(SitemapProblem.NOT_SITEMAP, "it is HTML")
        raise _Ended(SitemapProblem.UNSAFE, "it has a document type declaration (DTD), which may declare entities")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth = depth = self._depth + 1
        if depth > NESTED_MAX:
            raise _Ended(SitemapProblem.BROKEN, f"elements are nested more than {NESTED_MAX} deep")
        name = self._names.get(tag) or self._learn(tag)
        if depth == 1:
            self._begin(name)
        elif self._field:
            return
        elif not self._item_depth:
            if name == self._item_name:
                self._item_depth = depth
                self._own.clear()
        elif self._block is not None:
            if name in self._wanted:
                self._collect(name, depth)
        elif depth == self._item_depth + 1:
            self._start_inside(name, attributes, depth)

    def _start_inside(self, name: str, attributes: dict[str, str], depth: int) -> None:
        if name == "link" and attributes.get("href"):
            self._linked(attributes)
        elif (wanted := self._fields.get(name)) is not None:
            self._collect(wanted, depth)
        elif self.format is SitemapFormat.URLSET and (block := _BLOCKS.get(name)) is not None:
            self._block, self._block_depth, self._wanted = {}, depth, block[1]

    def _collect(self, field: str, depth: int) -> None:
        self._field, self._field_depth = field, depth
        self._text.clear()
        self._chars = 0

    def _characters(self, text: str) -> None:
        if self._field:
            if self._chars <= TEXT_CHARS_MAX:
                self._text.append(text)
                self._chars += len(text)
        elif self._depth == self._item_depth and len(self._own) < NOTED_MAX:
            self._own.append(text[:TEXT_CHARS_MAX])

    def _end(self, tag: str) -> None:
        depth = self._depth
        if depth == self._field_depth:
            self._keep(self._field, _stripped(self._text))
            self._field, self._field_depth = "", 0
        elif depth == self._block_depth:
            kept, self._block, self._block_depth = self._block, None, 0
            if kept:
                self._note(_BLOCKS[self._names[tag]][0], kept)
        elif depth == self._item_depth:
            self._add()
            self._item_depth = 0
        self._depth = depth - 1

    # --- what it means

    def _learn(self, tag: str) -> str:
        if len(self._names) > 1000:
            self._names.clear()
        name = self._names[tag] = tag.rpartition(":")[2].lower() or tag
        return name

    def _begin(self, root: str) -> None:
        found = _ROOTS.get(root)
        if found is None:
            raise _Ended(SitemapProblem.NOT_SITEMAP, f"its root is <{root[:40]}>")
        self.format, self._item_name, self._fields = found, _ITEMS[found], _FIELDS[found]

    def _keep(self, field: str, text: str) -> None:
        if self._block is not None:
            if text:
                self._block.setdefault(field, text[:NOTE_CHARS_MAX])
        elif field == "loc":
            if self._loc:  # a second one in an item: another entry, whose tags are missing
                self._add()
            self._loc = text
        elif field == "lastmod":
            self._lastmod = text
        elif field == "priority":
            self._priority = text
        elif field == "changefreq":
            if text.lower() in _FREQUENCIES:
                self._notes["changefreq"] = text.lower()
        elif field == "published":
            self._published = text
        elif text[:8].lower().startswith(_WEB):
            self._guid = text

    def _linked(self, attributes: dict[str, str]) -> None:
        relation, href = attributes.get("rel", "").lower(), attributes["href"].strip()
        if self.format in (SitemapFormat.ATOM, SitemapFormat.RSS):
            if relation in ("", "alternate") and not self._loc:
                self._loc = href[:TEXT_CHARS_MAX]
        elif relation == "alternate":
            alternate = {"href": href[: TEXT_CHARS_MAX // 4]}
            if language := attributes.get("hreflang", ""):
                alternate["hreflang"] = language[:TIME_CHARS_MAX]
            self._note("alternates", alternate)

    def _note(self, name: str, what: dict[str, str]) -> None:
        self.noted[name] += 1
        kept = self._notes.setdefault(name, [])
        if len(kept) < NOTED_MAX:
            kept.append(what)

    def _add(self) -> None:
        loc = self._loc or self._guid or (_stripped(self._own) if self._own else "")
        if loc and len(loc) <= TEXT_CHARS_MAX:
            lastmod = time_of(self._lastmod or self._published)
            self._found.append(SiteEntry(loc, lastmod, priority_in(self._priority), self._notes or None))
        self._forget()


def _entity(*_: object) -> None:
    raise _Ended(SitemapProblem.UNSAFE, "it declares entities")


def _stripped(pieces: list[str]) -> str:
    return "".join(pieces).strip().strip("\ufeff\u200b").strip()


# --- texts


def _codec(body: bytes, charset: str | None) -> str:
    """By its byte order mark, the header, the XML declaration; UTF-8 where nothing is said."""
    for bom, codec in ((codecs.BOM_UTF8, UTF8), (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF16_LE, "utf-16-le")):
        if body.startswith(bom):
            return codec
    head = body[:FEED_BYTES].lstrip(b" \t\r\n")[:400]
    if head[:4] in (b"<\0?\0", b"<\0u\0", b"<\0s\0"):
        return "utf-16-le"
    if head[:4] in (b"\0<\0?", b"\0<\0u", b"\0<\0s"):
        return "utf-16-be"
    declared = _ENCODING.match(head)
    for label in (charset, declared[1].decode() if declared else None):
        named = codec_of(label) if label else None
        if named is not None and not named.startswith("utf-16"):  # whose bytes do not begin like this
            return named
    return UTF8


def _texts(body: bytes, codec: str) -> Iterator[str]:
    """The body as text, in pieces. Bytes that mean nothing become replacement characters: a URL with one is refused."""
    decoder, view = codecs.getincrementaldecoder(codec)("replace"), memoryview(body)
    for start in range(0, len(view), FEED_BYTES):
        if text := decoder.decode(bytes(view[start : start + FEED_BYTES])):
            yield text
    if text := decoder.decode(b"", True):
        yield text


def _split(first: str, rest: Iterator[str]) -> Iterator[str]:
    """Lines of text that comes in pieces."""
    left = ""
    for piece in chain((first,), rest):
        *lines, left = _LINE_END.split(left[-LINE_CHARS_MAX:] + piece)
        yield from lines
    yield left


# --- values


def time_of(text: str) -> int | None:
    """A date in the form of ISO 8601 or of mail, in ms since 1970; None: it is none, or its year is a mistake."""
    text = text.strip()[:TIME_CHARS_MAX]
    if not text:
        return None
    try:
        return _iso_time(text) if text[:4].isdecimal() else _mail_time(text)
    except (ValueError, OverflowError, TypeError):
        return None


def _iso_time(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        found = _YEAR_OR_MONTH.match(text)
        if found is None:
            return None
        year, month, day = (int(part) if part else 1 for part in found.groups())
        moment = datetime(year, month, day)
    if moment.year not in YEARS:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def _mail_time(text: str) -> int | None:
    parsed = parsedate_tz(text)
    if parsed is None or parsed[0] not in YEARS or not _ZONE.search(text):  # without a zone it may be another day
        return None
    return int(mktime_tz(parsed) * 1000)


def priority_in(text: str) -> float | None:
    """A priority from 0 to 1; None: it is none."""
    try:
        value = float(text[:TIME_CHARS_MAX]) if text else -1.0
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
