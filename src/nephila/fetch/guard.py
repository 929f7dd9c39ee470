"""Which addresses a crawl may connect to: public unicast only. Pure; the fetcher asks again at connect time."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from nephila.models import Decision, Reason
from nephila.urls.normalize import parts_of

SCHEMES = ("http:", "https:")
JUDGEMENTS_MAX = 16_384  # cached; a judgement costs 5 us, a cached one 0.1

OK = Decision(True)

# First match wins. IANA special-purpose registries, and what clouds put beside them.
IPV4_REFUSED = tuple(
    (IPv4Network(network), label)
    for network, label in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.100.100.200/32", "metadata"),  # Alibaba
        ("100.64.0.0/10", "carrier-grade nat"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "metadata"),  # Azure: a public number that leads to the host's own agent
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

# Only global unicast (2000::/3) is allowed at all: what lies outside it is listed to give its refusal a better name.
IPV6_REFUSED = tuple(
    (IPv6Network(network), label)
    for network, label in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "ipv4-mapped"),
        ("::/96", "ipv4-compatible"),
        ("64:ff9b::/96", "nat64"),
        ("64:ff9b:1::/48", "nat64"),
        ("100::/64", "discard"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
    )
)
IPV6_GLOBAL = IPv6Network("2000::/3")


@lru_cache(JUDGEMENTS_MAX)
def judge_address(ip: str) -> Decision:
    """May we connect to this address? Refusals carry the class of the address."""
    try:
        address = ip_address(ip)
    except ValueError:
        return _refused(f"{ip!r} is no address")
    label = _class_of(address)
    return _refused(f"{ip} is {label}") if label else OK


def judge_url(url: str) -> Decision:
    """May we ask for this URL, as far as its text tells? For a name, DNS will decide."""
    parsed = parts_of(url)
    if parsed is None:
        return _refused("no URL")
    if parsed.protocol not in SCHEMES:
        return _refused(f"scheme {parsed.protocol[:-1]}")
    return judge_host(parsed.hostname)


def judge_host(hostname: str) -> Decision:
    """The same for a host as the WHATWG parser writes it: every spelling of an IPv4 literal is canonical there."""
    if is_literal(hostname):
        return judge_address(hostname.strip("[]"))
    name = hostname.rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return _refused(f"{name} is loopback")
    return OK


def is_literal(hostname: str) -> bool:
    """A host that ends in a number is an IPv4 address after a WHATWG parse, or the parse had failed."""
    return hostname.startswith("[") or (hostname[-1:].isdigit() and hostname.rpartition(".")[2].isdigit())


def _class_of(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return next((label for network, label in IPV4_REFUSED if address in network), "")
    label = next((label for network, label in IPV6_REFUSED if address in network), "")
    return label or ("" if address in IPV6_GLOBAL else "reserved")


def _refused(detail: str) -> Decision:
    return Decision(False, Reason.PRIVATE_ADDRESS, detail)
