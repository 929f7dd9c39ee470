"""How two spellings of a URL become one: the WHATWG standard (by Ada), then the policies of the `norm` settings.

`join` answers the address that a link means, which is what a server is asked for; `folded` answers the URL that
identifies it under the policies. A server may know only one of the spellings that fold into a URL.

Conservative by default: beyond the standard only the fragment and credentials (user:password@) are dropped. Credentials
in a link are a trick or a secret, and would make one page many. Escapes, path case and the query stay as written.
"""

import re

import ada_url
import can_ada

from nephila.models import Refusal
from nephila.profiles import NormSettings, QueryRule, TrailingSlash
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

_authority_in = re.compile(r"[\0- ]*(?:https?:[/\\]*|[/\\]{2,})([^/\\?#]*)", re.IGNORECASE).match

_WEB = ("http://", "https://")

Resolved = tuple[str, None] | tuple[None, Refusal]
_INVALID: Resolved = (None, Refusal.INVALID)
_SCHEME: Resolved = (None, Refusal.SCHEME)


def parse(text: str, base: str | None = None) -> str | None:
    """The WHATWG URL of a text, fragment and credentials kept; None where the standard says failure."""
    if _is_odd(text) or (base is not None and _is_odd(base)):
        return _parse_odd(text, base)
    try:
        return str((can_ada.parse(text) if base is None else can_ada.parse(base) + text).href)
    except (ValueError, TypeError):
        return _parse_odd(text, base)


def parts_of(url: str) -> "can_ada.URL | ada_url.URL | None":
    """An absolute URL with its `protocol`, `host`, `hostname`, `pathname` and `search`; None where it is none."""
    if not _is_odd(url):
        try:
            return can_ada.parse(url)
        except TypeError:  # a lone surrogate
            return None
        except ValueError:
            pass
    try:
        return ada_url.URL(url)
    except ValueError:
        return None


def _is_odd(text: str) -> bool:
    """Whether can_ada may be too old for it: a host that is not plain ASCII, a `^`, which paths have escaped today."""
    if "^" in text:
        return True
    if text.isascii() and "%" not in text:
        return False
    if "\n" in text or "\t" in text or "\r" in text:
        return True  # the standard drops these, wherever they are
    match = _authority_in(text)
    return match is not None and (not match[1].isascii() or "%" in match[1])


def _parse_odd(text: str, base: str | None) -> str | None:
    """The same by ada_url, whose Unicode is today's. can_ada is three times as fast, but its is older.

    So it refuses some international names, reads two as another host, fails where a label is bad Punycode, and leaves
    `^` in paths as it is.
    """
    text = _scalar(text)
    try:
        return ada_url.normalize_url(text) if base is None else ada_url.join_url(_scalar(base), text)
    except ValueError:
        return None


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
    __slots__ = ("_base", "_base_text", "_fold_scheme", "_fold_www", "_query", "_strip_slash", "folds")

    def __init__(self, norm: NormSettings) -> None:
        self._strip_slash = norm.trailing_slash is TrailingSlash.STRIP
        self._query = norm.query
        self._fold_scheme = norm.fold_scheme
        self._fold_www = norm.fold_www
        self.folds = self._strip_slash or norm.query is not QueryRule.PRESERVE or norm.fold_scheme or norm.fold_www
        self._base_text: str | None = None
        self._base: Base | None = None

    def resolve(self, raw: str, base: str | None = None) -> Resolved:
        """The URL that identifies a reference, or why it is not a URL for us."""
        joined = self.join(raw, None if base is None else self.base_of(base))
        return joined if joined[0] is None else (self.folded(joined[0]), None)

    def base_of(self, text: str) -> Base | None:
        """None where the base is no web URL: then only absolute references resolve."""
        if text != self._base_text:
            self._base, self._base_text = _base_at(text), text
        return self._base

    def join(self, raw: str, base: Base | None) -> Resolved:
        """The address of a reference, without fragment and credentials, or why it is not a URL for us."""
        href = None if base is None else _join_plain(raw[: raw.index("#")] if "#" in raw else raw, base)
        if href is None:
            parsed = _href(raw, base)
            if parsed is None:
                return _INVALID
            if not parsed.startswith(_WEB):
                return _SCHEME
            href = _bare(parsed)
        return href, None

    def folded(self, href: str) -> str:
        """The URL that identifies an address: the address itself where no policy folds (`folds`)."""
        if not self.folds:
            return href
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
        if mark and self._query is not QueryRule.PRESERVE:
            query = _sorted_query(query, strip=self._query is QueryRule.SORT_STRIP)
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
    if base is None or base.url is None or _is_odd(raw):
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
