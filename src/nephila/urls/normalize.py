"""How two spellings of a URL become one: the WHATWG standard (can_ada), then the policies of the `norm` settings.

Conservative by default: beyond the standard only the fragment and credentials (user:password@) are dropped. Credentials
in a link are a trick or a secret, and would make one page many. Escapes, path case and the query stay as written.
"""

import re

import can_ada

from nephila.models import Refusal
from nephila.profiles import NormSettings, Query, TrailingSlash
from nephila.urls.identity import politeness_key

TRACKING_PREFIX = "utm_"
_TRACKING_TEXT = """
    _ga _gl _hsenc _hsmi dclid fbclid gbraid gclid gclsrc igshid mc_cid mc_eid mkt_tok msclkid oly_anon_id oly_enc_id
    srsltid ttclid twclid vero_id wbraid wickedid yclid ysclid
"""
TRACKING = frozenset(_TRACKING_TEXT.split())

# References that the standard joins by mere concatenation: every segment begins with a harmless character that is no
# dot, nothing needs escaping. A property test holds this and the parser equal.
_SEGMENT = r"[A-Za-z0-9_~!$&'()*+,;=@-][A-Za-z0-9_~!$&'()*+,;=@.-]*+"
_is_plain = re.compile(
    rf"(?:/(?:{_SEGMENT}/?+)*+|{_SEGMENT}(?:/{_SEGMENT})*+/?+)(?:\?[A-Za-z0-9_~!$&()*+,;=@./:%-]*+)?+"
).fullmatch

_ACE, _STAND_IN = "xn--", "xn0ace0"
_authority_in = re.compile(r"[\0- ]*(?:https?:)?[/\\]{2}([^/\\?#]*)", re.IGNORECASE).match

_WEB = ("http://", "https://")

Resolved = tuple[str, None] | tuple[None, Refusal]
_INVALID: Resolved = (None, Refusal.INVALID)
_SCHEME: Resolved = (None, Refusal.SCHEME)


def parse(text: str, base: str | None = None) -> str | None:
    """The WHATWG URL of a text, fragment and credentials kept; None where the standard says failure."""
    try:
        return _ada(text, base)
    except (ValueError, TypeError):
        return _parse_odd(_scalar(text), None if base is None else _scalar(base))


def _ada(text: str, base: str | None) -> str:
    return str((can_ada.parse(text) if base is None else can_ada.parse(base) + text).href)


def _parse_odd(text: str, base: str | None) -> str | None:
    try:
        return _ada(text, base)
    except ValueError:
        return _parse_odd_ace(text, base)


def _parse_odd_ace(text: str, base: str | None) -> str | None:
    """The standard only lower-cases an ASCII host, even where a label is bad Punycode; can_ada 3.0 still fails there.

    So such labels go through the parser under another prefix. Hosts that are not ASCII must fail, as before.
    """
    masked, masked_base = _masked(text), base and _masked(base)
    if masked == text and masked_base == base:
        return None
    try:
        href = _ada(masked, masked_base)
    except ValueError:
        return None
    if not href.startswith(_WEB):
        return href
    start = href.index("/") + 2
    end = href.index("/", start)
    authority = href[start:end]
    if _STAND_IN in authority and _ACE in authority:
        return None
    return href[:start] + authority.replace(_STAND_IN, _ACE) + href[end:]


def _masked(text: str) -> str:
    match = _authority_in(text)
    if match is None:
        return text
    user, at, host = match[1].rpartition("@")
    host = host.lower()
    if _ACE not in host or _STAND_IN in match[1] or "%" in host or not host.isascii():
        return text
    return f"{text[: match.start(1)]}{user}{at}{host.replace(_ACE, _STAND_IN)}{text[match.end(1) :]}"


class Base:
    """What the references of a page are resolved against: parsed once a page, not once a link."""

    __slots__ = ("_up", "directory", "href", "origin", "root", "url")

    def __init__(self, href: str) -> None:
        self.href = href
        self.url = _url_at(href)
        self.origin = href[: href.index("/", 8)]
        self.root = self.origin + "/"
        query = href.find("?")
        self.directory = href[: href.rfind("/", 0, len(href) if query < 0 else query) + 1]
        self._up: dict[str, str] = {}

    def above(self, directory: str) -> str:
        """The directory that `..` means; the root is above itself."""
        parent = self._up.get(directory)
        if parent is None:
            parent = directory[: directory.rfind("/", 0, -1) + 1] if directory != self.root else directory
            self._up[directory] = parent
        return parent


class Normalizer:
    __slots__ = ("_base", "_base_text", "_fold_scheme", "_fold_www", "_policies", "_query", "_strip_slash")

    def __init__(self, norm: NormSettings) -> None:
        self._strip_slash = norm.trailing_slash is TrailingSlash.STRIP
        self._query = norm.query
        self._fold_scheme = norm.fold_scheme
        self._fold_www = norm.fold_www
        self._policies = self._strip_slash or norm.query is not Query.PRESERVE or norm.fold_scheme or norm.fold_www
        self._base_text: str | None = None
        self._base: Base | None = None

    def resolve(self, raw: str, base: str | None = None) -> Resolved:
        """The one spelling of a reference, or why it is not a URL for us."""
        return self.join(raw, None if base is None else self.base_of(base))

    def base_of(self, text: str) -> Base | None:
        """None where the base is no web URL: then only absolute references resolve."""
        if text != self._base_text:
            self._base, self._base_text = _base_at(text), text
        return self._base

    def join(self, raw: str, base: Base | None) -> Resolved:
        href = None if base is None else _join_plain(raw[: raw.index("#")] if "#" in raw else raw, base)
        if href is None:
            parsed = _href(raw, base)
            if parsed is None:
                return _INVALID
            if not parsed.startswith(_WEB):
                return _SCHEME
            href = _bare(parsed)
        return (self._folded(href) if self._policies else href), None

    def _folded(self, href: str) -> str:
        start = href.index("/") + 2
        slash = href.index("/", start)
        scheme, authority = href[:start], href[start:slash]
        path, mark, query = href[slash:].partition("?")
        if self._fold_scheme and ":" not in authority.rpartition("]")[2]:
            # A port of its own says which protocol speaks there: such a URL keeps its scheme.
            scheme = "https://"
        if self._fold_www:
            authority = _without_www(authority)
        if self._strip_slash:
            path = path.rstrip("/") or "/"
        if mark and self._query is not Query.PRESERVE:
            query = _sorted_query(query, strip=self._query is Query.SORT_STRIP)
            mark = "?" if query else ""
        return f"{scheme}{authority}{path}{mark}{query}"


def _join_plain(path: str, base: Base) -> str | None:
    """The joined URL where that is mere concatenation, else None: ask the parser."""
    if _is_plain(path):
        return base.origin + path if path[0] == "/" else base.directory + path
    if path[:3] == "../":
        return _join_above(path, base)
    if path.startswith(base.root) and _is_plain(path, len(base.origin)):
        return path
    return None


def _join_above(path: str, base: Base) -> str | None:
    directory = base.directory
    while path[:3] == "../":
        directory, path = base.above(directory), path[3:]
    return directory + path if path[:1] != "/" and _is_plain(path) else None


def _href(raw: str, base: Base | None) -> str | None:
    if base is None or base.url is None:
        return parse(raw, None if base is None else base.href)
    try:
        return str((base.url + raw).href)
    except (ValueError, TypeError):
        return parse(raw, base.href)


def _scalar(text: str) -> str:
    """Lone surrogates become U+FFFD, as the standard's scalar value strings have it; can_ada takes no others."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _base_at(text: str) -> Base | None:
    href = parse(text)
    return Base(_bare(href)) if href is not None and href.startswith(_WEB) else None


def _url_at(href: str) -> "can_ada.URL | None":
    try:
        return can_ada.parse(href)
    except ValueError:
        return None


def _bare(href: str) -> str:
    """A web URL without its fragment and credentials."""
    cut = href.find("#")
    if cut >= 0:
        href = href[:cut]
    if "@" in href:
        start = href.index("/") + 2
        at = href.rfind("@", start, href.index("/", start))
        if at >= 0:
            href = href[:start] + href[at + 1 :]
    return href


def _without_www(authority: str) -> str:
    # Until nothing changes: once would make www.www.example.com another URL on the second pass.
    hostname, colon, port = authority.partition(":") if not authority.startswith("[") else (authority, "", "")
    while (shorter := politeness_key(hostname)) != hostname:
        hostname = shorter
    return f"{hostname}{colon}{port}"


def _sorted_query(query: str, strip: bool) -> str:
    """Parameters in the order of their keys; equal keys keep their order, escapes stay raw, empty ones (`&&`) go."""
    keyed = [(part.partition("=")[0], part) for part in query.split("&") if part]
    if strip:
        keyed = [(key, part) for key, part in keyed if not _tracks(key.lower())]
    keyed.sort(key=lambda pair: pair[0])
    return "&".join(part for _, part in keyed)


def _tracks(key: str) -> bool:
    return key in TRACKING or key.startswith(TRACKING_PREFIX)
