"""What all requests of one crawl have in common, worked out once: headers, proxy, deadlines. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from nephila.fetch.body import ACCEPT_ENCODING
from nephila.profiles import FetchSettings, shown_headers
from nephila.urls.normalize import parts_of

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_LANGUAGE = "en,*;q=0.5"
# libcurl's own business: a second Host would split what we check from what we ask for
HEADERS_REFUSED = frozenset({"host", "connection", "content-length", "transfer-encoding", "expect", "proxy-connection"})


@dataclass(slots=True)
class Plan:
    settings: FetchSettings  # held, so that its id stays its own
    user_agent: str
    proxy: str
    guarded: bool  # sockets are opened to public addresses only: the target's, or the proxy's where there is one
    first_look_ms: int  # the soonest deadline of connect, TLS and first byte
    header_lines: list[bytes]  # as libcurl takes them
    head_tail: bytes  # as they stand in the request, after the Host line


@dataclass(slots=True)
class Target:
    """A URL as the WHATWG parser reads it. libcurl gets only origin and target, so its own parser decides nothing."""

    origin: str
    https: bool
    hostname: str
    host: str  # with a port that is not the default
    path: str  # with the query

    @property
    def absolute(self) -> str:
        return self.origin + self.path


def plan_of(settings: FetchSettings, user_agent: str, *, private_proxies: bool = True) -> Plan:
    pairs = header_pairs(user_agent, settings.headers)
    return Plan(
        settings=settings,
        user_agent=user_agent,
        proxy=_remote_names(settings.proxy or ""),
        guarded=not (settings.allow_private or (settings.proxy and private_proxies)),
        first_look_ms=min(settings.connect_timeout_ms, settings.tls_timeout_ms, settings.first_byte_timeout_ms),
        header_lines=curl_lines(pairs),
        head_tail=shown_tail(settings, user_agent),
    )


def target_of(url: str) -> Target | None:
    """None: no http(s) URL. Credentials and fragment are dropped: they are never sent."""
    parsed = parts_of(url)
    if parsed is None:
        return None
    protocol = parsed.protocol
    if protocol not in ("https:", "http:"):
        return None
    host = parsed.host
    path = parsed.pathname + parsed.search
    return Target(f"{protocol}//{host}", protocol == "https:", parsed.hostname, host, path)


def header_pairs(user_agent: str, further: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Lower-case name -> (name, value) in the order of the wire; a later pair takes the place of an earlier one."""
    pairs: dict[str, tuple[str, str]] = {}
    ours = (
        ("User-Agent", user_agent),
        ("Accept", ACCEPT),
        ("Accept-Language", ACCEPT_LANGUAGE),
        ("Accept-Encoding", ACCEPT_ENCODING),
    )
    for name, value in (*ours, *further):
        name, value = _clean(name).rstrip(":"), _clean(value)
        if name and name.lower() not in HEADERS_REFUSED:
            pairs[name.lower()] = (name, value)
    return pairs


def curl_lines(pairs: dict[str, tuple[str, str]]) -> list[bytes]:
    """`Name;` is libcurl's way to send a header without a value, `Name:` its way to send none."""
    lines = [f"{name}: {value}" if value else f"{name};" for name, value in pairs.values()]
    return [line.encode("latin-1", "replace") for line in [*lines, "Proxy-Connection:"]]


def shown_tail(settings: FetchSettings, user_agent: str, extra: Iterable[tuple[str, str]] = ()) -> bytes:
    """The header lines as they are archived: without the credentials that the crawl sends."""
    pairs = header_pairs(user_agent, (*shown_headers(settings.headers), *extra))
    lines = [f"{name}: {value}" if value else f"{name}:" for name, value in pairs.values()]
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1", "replace") + b"\r\n"


def _clean(text: str) -> str:
    """Drop control characters: they could end the line and begin another."""
    return "".join(char for char in text if char >= " " and char != "\x7f").strip()


def _remote_names(proxy: str) -> str:
    """The URL of a proxy, with the scheme that leaves names to a SOCKS proxy: libcurl must not look them up."""
    for local, remote in (("socks5://", "socks5h://"), ("socks4://", "socks4a://")):
        if proxy.lower().startswith(local):
            return remote + proxy[len(local) :]
    return proxy
