"""robots.txt by RFC 9309, read as leniently as Google reads it: what site owners test against.

Parsing follows google/robotstxt (typos, a missing colon, any line ending, a torn BOM); matching follows RFC 9309 2.2.2:
escaped and plain spellings of an octet are the same, the longest pattern wins, allow wins a tie.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nephila.models import Decision, Reason

ROBOTS_BYTES_MAX = 512_000  # RFC 9309 2.5: at least 500 KiB; what follows is not read
LINE_BYTES_MAX = 16_663  # as Google: eight times the longest URL of old browsers
SITEMAPS_MAX = 1_000
CRAWL_DELAY_MS_MAX = 7 * 86_400_000  # the bound of every delay in the settings
DELAY_BYTES_MAX = 32

_BOM = b"\xef\xbb\xbf"
ANY_AGENT = "*"
_WHITE = b" \t\v\f\0"

# Google accepts a directive by its beginning, in any case, and these misspellings.
_DIRECTIVES: dict[bytes, tuple[bytes, ...]] = {
    b"user-agent": (b"user-agent", b"useragent", b"user agent"),
    b"allow": (b"allow",),
    b"disallow": (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    b"sitemap": (b"sitemap", b"site-map"),
    b"crawl-delay": (b"crawl-delay", b"crawldelay", b"crawl delay"),
}

_ROBOTS_ITSELF = Decision(True, "", "/robots.txt is always allowed")
_NO_RULE = Decision(True, "", "no rule matches")


@dataclass(slots=True)
class Rule:
    """A pattern as its literal pieces between stars, in canonical octets. Never changed; freezing costs 1 us a rule."""

    allow: bool
    pieces: tuple[str, ...]
    anchored: bool  # ends in $
    text: str  # as written, for people
    line: int

    @property
    def length(self) -> int:
        return sum(map(len, self.pieces)) + len(self.pieces) - 1 + self.anchored

    @property
    def plain(self) -> bool:
        return len(self.pieces) == 1 and not self.anchored

    def matches(self, path: str) -> bool:
        pieces = self.pieces
        if not path.startswith(pieces[0]):
            return False
        if len(pieces) == 1:
            return not self.anchored or len(path) == len(pieces[0])
        at, last = len(pieces[0]), pieces[-1]
        if len(pieces) > 2 and (at := _end_of_all(pieces, path, at)) < 0:
            return False
        return path.endswith(last) and len(path) - len(last) >= at if self.anchored else path.find(last, at) >= 0

    @property
    def spelled(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.text}"

    def decision(self) -> Decision:
        detail = f"{self.spelled} (line {self.line})"
        return Decision(True, "", detail) if self.allow else Decision(False, Reason.ROBOTS, detail)


def _end_of_all(pieces: tuple[str, ...], path: str, at: int) -> int:
    """Where the inner pieces end, each at its first place after the one before; -1 where one is missing."""
    for piece in pieces[1:-1]:
        at = path.find(piece, at)
        if at < 0:
            return at
        at += len(piece)
    return at


@dataclass(slots=True)
class RuleGroup:
    """Consecutive user-agent lines and the rules below them."""

    agents: set[str] = field(default_factory=set)  # lower-case product tokens, or *
    rules: list[Rule] = field(default_factory=list)
    delays_ms: dict[str, int] = field(default_factory=dict)  # by agent: a delay does not end the list of agents
    closed: bool = False  # a rule was seen, an empty one too: the next user-agent line begins another group
    line: int = 0  # of the first user-agent line


class RobotsRules:
    """What one crawler may do on one origin."""

    __slots__ = ("_decisions", "_lengths", "_plain", "_wild", "crawl_delay_ms", "sitemaps")

    def __init__(
        self, rules: Iterable[Rule], crawl_delay_ms: int | None = None, sitemaps: tuple[str, ...] = ()
    ) -> None:
        self.crawl_delay_ms = crawl_delay_ms
        self.sitemaps = sitemaps
        # Plain prefixes are looked up by length, so a file of 20,000 rules costs as much as one of twenty.
        self._plain: dict[str, Rule] = {}
        self._decisions: dict[int, Decision] = {}  # by line, of the rules that have won so far
        wild: list[tuple[int, Rule]] = []
        for rule in rules:
            if not rule.plain:
                wild.append((rule.length, rule))
            elif rule.allow or rule.pieces[0] not in self._plain:
                self._plain[rule.pieces[0]] = rule
        self._lengths = sorted({len(prefix) for prefix in self._plain}, reverse=True)
        wild.sort(key=lambda ranked: (-ranked[0], not ranked[1].allow))
        self._wild = [(length, rule, rule.matches) for length, rule in wild]

    def judge(self, url: str) -> Decision:
        path = _path_of(url)
        if path == "/robots.txt":
            return _ROBOTS_ITSELF
        rule = self._winner(path)
        return _NO_RULE if rule is None else self._decisions.get(rule.line) or self._decided(rule)

    def match(self, url: str) -> Rule | None:
        """The rule that wins, also for /robots.txt: Google's reference cases ask for this."""
        return self._winner(_path_of(url))

    def _winner(self, path: str) -> Rule | None:
        winner = self._longest_prefix(path)
        best, allowed = (len(winner.pieces[0]), winner.allow) if winner else (0, False)
        for length, rule, matches in self._wild:
            if length < best or (length == best and (allowed or not rule.allow)):
                break
            if matches(path):
                return rule
        return winner

    def _longest_prefix(self, path: str) -> Rule | None:
        plain = self._plain
        for length in self._lengths:
            rule = plain.get(path[:length])
            if rule is not None:
                return rule
        return None

    def _decided(self, rule: Rule) -> Decision:
        decision = self._decisions[rule.line] = rule.decision()
        return decision


@dataclass(frozen=True, slots=True)
class RobotsFile:
    groups: tuple[RuleGroup, ...]
    sitemaps: tuple[str, ...]

    def rules_for(self, product_token: str) -> RobotsRules:
        """All groups of this crawler merged. The longest of several delays counts."""
        agent, groups = self.groups_for(product_token)
        delays = [group.delays_ms[agent] for group in groups if agent in group.delays_ms]
        rules = (rule for group in groups for rule in group.rules)
        return RobotsRules(rules, max(delays, default=None), self.sitemaps)

    def groups_for(self, product_token: str) -> tuple[str, list[RuleGroup]]:
        """The groups that name this crawler, else those of `*`; and the name that they are found by."""
        agent = product_token.lower()
        if not any(agent in group.agents for group in self.groups):
            agent = ANY_AGENT
        return agent, [group for group in self.groups if agent in group.agents]


def parse_robots(body: bytes) -> RobotsFile:
    """Read every line that can be read. Of a longer body hand over one byte more than ROBOTS_BYTES_MAX."""
    groups: list[RuleGroup] = []
    sitemaps: dict[str, None] = {}
    for number, directive, value in _directives(_whole_lines(body)):
        if directive == b"user-agent":
            _add_agent(groups, value, number)
        elif directive == b"sitemap":
            if value and len(sitemaps) < SITEMAPS_MAX:
                sitemaps[value.decode("utf-8", "replace")] = None
        elif not groups:
            continue
        elif directive == b"crawl-delay":
            _add_delay(groups[-1], value)
        else:
            _add_rule(groups[-1], directive == b"allow", value, number)
    return RobotsFile(tuple(groups), tuple(sitemaps))


def product_token_of(user_agent: str) -> str:
    """`Nephila` of `Nephila/1.0 (+https://...)`: the leading letters, `_` and `-`, as RFC 9309 has it."""
    match = _TOKEN(user_agent)
    return match[0] if match else ""


_TOKEN = re.compile(r"[A-Za-z_-]+").match


def _whole_lines(body: bytes) -> bytes:
    """The lines that are read. One that is cut in two is left out: `Disallow: /x` would become `Disallow: /`."""
    if len(body) <= ROBOTS_BYTES_MAX:
        return body
    head = body[: ROBOTS_BYTES_MAX + 1]
    return head[: max(head.rfind(b"\n"), head.rfind(b"\r"), 0)]


def _directives(body: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    body = body.removeprefix(_BOM).removeprefix(_BOM[:2]).removeprefix(_BOM[:1])
    for number, line in enumerate(body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), 1):
        if line and (pair := _key_and_value(line[:LINE_BYTES_MAX])):
            key = pair[0].lower()
            directive = key if key in _DIRECTIVES else _directive_of(key)
            if directive is not None:
                yield number, directive, pair[1]


def _key_and_value(line: bytes) -> tuple[bytes, bytes] | None:
    line = line.partition(b"#")[0].strip(_WHITE)
    key, colon, value = line.partition(b":")
    if colon:
        return key.strip(_WHITE), value.strip(_WHITE)
    words = line.split()
    return (words[0], words[1]) if len(words) == 2 else None


def _directive_of(key: bytes) -> bytes | None:
    for directive, spellings in _DIRECTIVES.items():
        if key.startswith(spellings):
            return directive
    return None


def _add_agent(groups: list[RuleGroup], value: bytes, line: int) -> None:
    if not groups or groups[-1].closed:
        groups.append(RuleGroup(line=line))
    if value == b"*" or value[:2] in (b"* ", b"*\t"):
        groups[-1].agents.add(ANY_AGENT)
    elif token := product_token_of(value.decode("latin-1")):
        groups[-1].agents.add(token.lower())


def _add_delay(group: RuleGroup, value: bytes) -> None:
    try:
        seconds = float(value[:DELAY_BYTES_MAX])
    except ValueError:
        return
    if math.isnan(seconds) or seconds < 0:
        return
    delay_ms = math.ceil(min(seconds * 1000, CRAWL_DELAY_MS_MAX))
    for agent in group.agents:
        group.delays_ms[agent] = max(delay_ms, group.delays_ms.get(agent, 0))


def _add_rule(group: RuleGroup, allow: bool, value: bytes, line: int) -> None:
    """An empty value restricts nothing. Allowing a directory's index page allows the directory, as Google has it."""
    group.closed = True
    if not value:
        return
    text = value.decode("utf-8", "replace")
    group.rules.append(_rule(allow, value, text, line))
    slash = value.rfind(b"/")
    if allow and slash >= 0 and value.startswith(b"/index.htm", slash):
        group.rules.append(_rule(True, value[: slash + 1] + b"$", text, line))


def _rule(allow: bool, pattern: bytes, text: str, line: int) -> Rule:
    anchored = pattern.endswith(b"$")
    pieces = pattern[: -1 if anchored else None].split(b"*")
    return Rule(allow, tuple(map(_canonical, pieces)), anchored, text, line)


def _path_of(url: str) -> str:
    """Path and query in canonical octets."""
    start = url.find("://")
    start = 0 if start < 0 else start + 3
    slash, query = url.find("/", start), url.find("?", start)
    if 0 <= query < slash or slash < 0:
        path = "/" + url[query:] if query >= 0 else "/"
    else:
        path = url[slash:]
    cut = path.find("#")
    if cut >= 0:
        path = path[:cut]
    return _canonical(path.encode("utf-8", "surrogatepass")) if _NOT_CANONICAL(path) else path


# Canonical octets: unreserved and reserved characters as they are, everything else escaped in upper case; an escape is
# undone where RFC 9309 2.2.2 says so (unreserved), and for * and $, which only so stand for themselves in a pattern.
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_KEPT = frozenset(_UNRESERVED + b":/?#[]@!$&'()*+,;=")
_NOT_CANONICAL = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]").search
_NOT_CANONICAL_OCTET = re.compile(rb"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]").search
_OCTETS = [chr(octet) if octet in _KEPT else f"%{octet:02X}" for octet in range(256)]
_ESCAPES = {
    bytes([high, low]): chr(octet) if octet in _UNRESERVED + b"*$" else f"%{octet:02X}"
    for octet in range(256)
    for high in {f"{octet:02x}".encode()[0], f"{octet:02X}".encode()[0]}
    for low in {f"{octet:02x}".encode()[1], f"{octet:02X}".encode()[1]}
}


def _canonical(octets: bytes) -> str:
    if not _NOT_CANONICAL_OCTET(octets):
        return octets.decode("ascii")
    first, *escaped = octets.split(b"%")
    out = ["".join([_OCTETS[octet] for octet in first])]
    for part in escaped:
        escape = _ESCAPES.get(part[:2])
        out.append("%" if escape is None else escape)
        out.append("".join([_OCTETS[octet] for octet in (part if escape is None else part[2:])]))
    return "".join(out)
