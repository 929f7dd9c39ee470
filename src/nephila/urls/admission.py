"""Which discovered URLs enter a crawl: normalise, then length, scope, depth, exclude, include, extension, traps.

What a page needs (a requisite) is judged by fewer rules: normalise, then length, exclude, traps, and its host by
scope.requisites. It has the depth of its page; scope, include and extension say which links are pages. A sitemap is
judged by length, scope and exclude; what it lists as links are, if the sitemap may speak for its host.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nephila.models import Decision, Refusal
from nephila.profiles import CrawlSettings, Requisites
from nephila.urls.identity import EVERY_HOST, hostname_of, politeness_key, requisite_key, sitemap_key, url_key
from nephila.urls.normalize import Base, Normalizer
from nephila.urls.scope import Patterns, Scope
from nephila.urls.traps import Traps

OUTCOMES_CACHED = 100_000  # cleared when full; 40 MB
SITES_CACHED = 20_000
PARENTS_CACHED = 20_000
NEEDED_CACHED = 20_000  # requisites; cleared when full
REFUSED_URLS_MAX = 100
RULE_CHARS_MAX = 200  # of a rule's words: they are part of a key
EXAMPLES_OF_PAGE = 3  # refused links that a page gives of each host, reason and rule
EXAMPLED_PAGES = 5  # pages that give some
EXAMPLED_KINDS_MAX = 2_000  # hosts, reasons and rules of which examples are given
EXAMPLE_CHARS_MAX = 500  # of a refused link that is kept as an example

_INVALID_DETAIL = {Refusal.INVALID: "no URL by the WHATWG standard", Refusal.SCHEME: "neither http nor https"}
_RULED = frozenset({Refusal.EXCLUDE, Refusal.EXTENSION})  # one rule of several refuses: its words are counted, too
_BEFORE_DEPTH = frozenset({Refusal.INVALID, Refusal.SCHEME, Refusal.LENGTH, Refusal.SCOPE})


class Found(NamedTuple):
    """An admitted URL. A tuple, because making a frozen dataclass takes three times as long, 76 times a page."""

    url: str
    host: str  # politeness key
    key: bytes  # 16 bytes
    raw: str  # the href as it was seen
    spelling: str | None = None  # what a server is asked for, where it is not `url`


RefusalKind = tuple[str, Refusal, str]  # of refusals: politeness key ("" if none), reason, and what `rule_of` says


class _Refused(NamedTuple):
    url: str | None
    kind: RefusalKind  # made once: a link that is refused on every page is only counted
    detail: str
    shown: str  # the URL; as it was written where it is no web URL


class Example(NamedTuple):
    """A link of a page that was refused."""

    host: str  # politeness key; empty: none
    refusal: Refusal
    rule: str
    url: str  # normalised; as it was written where it is no web URL; cut at EXAMPLE_CHARS_MAX


_Outcome = Found | _Refused
_Site = tuple[str, Decision]  # politeness key, scope

_found = tuple.__new__  # Found(...) goes through a Python function: twice as slow


@dataclass(frozen=True, slots=True)
class Judgement:
    """One URL admitted (found) or refused, and why."""

    found: Found | None = None
    refusal: Refusal | None = None
    detail: str = ""
    url: str | None = None  # normalised, where it is a web URL at all


@dataclass(frozen=True, slots=True)
class Admitted:
    """The links or requisites of a page, each distinct URL once."""

    found: list[Found] = field(default_factory=list)
    refused: dict[RefusalKind, int] = field(default_factory=dict)
    refused_urls: list[str] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)  # some of each host, reason and rule, of the first pages


def rule_of(refusal: Refusal, detail: str) -> str:
    """Which of several rules refuses, in words: an exclude pattern, an ending. Empty: the reason says it all."""
    return detail[:RULE_CHARS_MAX] if refusal in _RULED else ""


def example_of(kind: RefusalKind, url: str) -> Example:
    return Example(*kind, url if len(url) <= EXAMPLE_CHARS_MAX else f"{url[: EXAMPLE_CHARS_MAX - 1]}…")


class Admission:
    """Pure: the same three arguments make the same decisions in any process, so it pickles as them. Only examples are
    given a few times each."""

    def __init__(self, settings: CrawlSettings, seeds: Sequence[str], joined_hosts: Sequence[str] = ()) -> None:
        self._arguments = (settings, tuple(seeds), tuple(joined_hosts))
        self._normalizer = Normalizer(settings.norm)
        self._scope = Scope(settings.scope, self._hosts_of(seeds), joined_hosts)
        self._traps = Traps(settings.scope)
        self._include = Patterns(settings.scope.include)
        self._exclude = Patterns(settings.scope.exclude)
        self._no_patterns = not self._include and not self._exclude
        self._max_depth = settings.scope.max_depth
        self._follow_nofollow = settings.scope.follow_nofollow
        self.requisites = settings.scope.requisites
        self._length_max = self._traps.length_max
        self._extensions = self._traps.extensions_skipped
        self._forget()

    def with_hosts(self, hostnames: Sequence[str]) -> "Admission":
        """These rules with further hosts that joined the scope. Seeds are not read again: there may be a million."""
        settings, seeds, joined_hosts = self._arguments
        wider = Admission.__new__(Admission)
        wider.__dict__.update(self.__dict__)
        wider._arguments = (settings, seeds, (*joined_hosts, *hostnames))
        wider._scope = self._scope.with_hosts(hostnames)
        wider._forget()
        return wider

    def _forget(self) -> None:
        """Begin with empty memories of decisions."""
        self._sites: dict[str, _Site] = {}
        # URL whose children pass every rule but those of length and ending -> its host
        self._easy: dict[str, str] = {}
        # directory of the base -> href -> outcome; the pages of a directory share most of their links
        self._outcomes: dict[str, dict[str, _Outcome]] = {}
        self._outcomes_count = 0
        # The same of requisites, judged by everything but the host that needs them.
        self._needed: dict[tuple[str, str], _Outcome] = {}
        self._own: tuple[Base | None, _Outcome] | None = None
        # Examples that were given so far, by host, reason and rule: the pages of a site refuse the same links.
        self._exampled: dict[RefusalKind, int] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Admission, self._arguments

    def judge(self, raw: str, base: str | None, depth: int) -> Judgement:
        """One URL: a seed, a redirect target, or what `explain` was asked."""
        outcome = self._outcome(raw, None if base is None else self._normalizer.base_of(base))
        if depth > self._max_depth:
            outcome = self._too_deep(outcome)
        if isinstance(outcome, Found):
            return Judgement(found=outcome, url=outcome.url)
        return Judgement(refusal=outcome.kind[1], detail=outcome.detail, url=outcome.url)

    def judge_links(self, links: Sequence[tuple[str, bool]], base: str, depth: int) -> Admitted:
        """The links (href, nofollow) of a page; `depth` is theirs. A URL linked also without nofollow is admitted."""
        place = self._normalizer.base_of(base)
        known = self._known(place.directory if place else "", len(links))
        before = len(known)
        found: dict[str, Found] = {}
        unfollowed: dict[str, Found] = {}
        refused: dict[str, _Refused] = {}
        unmarked = self._follow_nofollow
        for raw, nofollow in links:
            outcome = known.get(raw) or self._learn(raw, place, known)
            if type(outcome) is Found:
                kept = found if unmarked or not nofollow else unfollowed
                if outcome[0] not in kept:  # of several hrefs the first one counts
                    kept[outcome[0]] = outcome
            else:
                refused[outcome[0] or raw] = outcome  # type: ignore[assignment]
        self._outcomes_count += len(known) - before
        for url, link in unfollowed.items():
            if url not in found:
                refused[url] = _Refused(url, (link.host, Refusal.NOFOLLOW, ""), "", url)
        if depth > self._max_depth:
            refused = {url: self._too_deep(outcome) for url, outcome in (refused | found).items()}
            found = {}
        return Admitted(list(found.values()), *_counted(refused, self._exampled))

    # --- requisites

    def judge_requisite(self, raw: str, base: str | None, host: str) -> Judgement:
        """One URL that a page or stylesheet of this host (a politeness key) needs, or that it redirects to."""
        place = None if base is None else self._normalizer.base_of(base)
        outcome = self._of_host(self._needed_outcome(raw, place), host)
        if isinstance(outcome, Found):
            return Judgement(found=outcome, url=outcome.url)
        return Judgement(refusal=outcome.kind[1], detail=outcome.detail, url=outcome.url)

    def judge_requisites(self, references: Sequence[str], base: str, host: str) -> Admitted:
        """What a page or stylesheet of this host (a politeness key) needs."""
        place = self._normalizer.base_of(base)
        directory = place.directory if place else ""
        found: dict[str, Found] = {}
        refused: dict[str, _Refused] = {}
        for raw in references:
            outcome = self._needed.get((directory, raw)) or self._learn_needed(raw, place, directory)
            outcome = self._of_host(outcome, host)
            if isinstance(outcome, _Refused):
                refused[outcome.url or raw] = outcome
            else:
                found.setdefault(outcome.url, outcome)
        return Admitted(list(found.values()), *_counted(refused, self._exampled))

    # --- sitemaps

    def judge_sitemap(self, raw: str, base: str | None, speaks_for: str) -> Judgement:
        """A sitemap: one that robots.txt of the host `speaks_for` names (a politeness key; empty: its own), that
        another sitemap lists, or that one redirects to."""
        place = None if base is None else self._normalizer.base_of(base)
        outcome = self._sitemap_outcome(raw, place, speaks_for)
        if isinstance(outcome, Found):
            return Judgement(found=outcome, url=outcome.url)
        return Judgement(refusal=outcome.kind[1], detail=outcome.detail, url=outcome.url)

    def judge_listed(
        self, references: Sequence[str], base: str, depth: int | None, speaks_for: str
    ) -> tuple[list[Found | None], Admitted]:
        """What a sitemap at `base` lists: each reference admitted, or None; and what was refused. `depth` is that of
        pages; None: it lists sitemaps. It may list what is of its own host, or of the host that it speaks for.

        Nothing is remembered: a sitemap lists each URL once, and 50,000 of them."""
        place = self._normalizer.base_of(base)
        own = {politeness_key(hostname_of(place.href)) if place else "", speaks_for}
        found: list[Found | None] = []
        refused: dict[str, _Refused] = {}
        too_deep = depth is not None and depth > self._max_depth
        for raw in references:
            outcome = self._sitemap_outcome(raw, place, speaks_for) if depth is None else self._outcome(raw, place)
            if too_deep:
                outcome = self._too_deep(outcome)
            if type(outcome) is Found and outcome.host not in own and speaks_for != EVERY_HOST:
                detail = "its host is not that of the sitemap, and does not name it in robots.txt"
                outcome = _Refused(outcome.url, (outcome.host, Refusal.FOREIGN_SITEMAP, ""), detail, outcome.url)
            if type(outcome) is Found:
                found.append(outcome)
            else:
                found.append(None)
                refused[outcome[0] or raw] = outcome  # type: ignore[assignment]
        return found, Admitted([], *_counted(refused, self._exampled))

    def _sitemap_outcome(self, raw: str, base: Base | None, speaks_for: str) -> _Outcome:
        url, refusal = self._normalizer.join(raw, base)
        if url is None:
            assert refusal is not None
            return _Refused(None, ("", refusal, ""), _INVALID_DETAIL[refusal], raw)
        host, scope = self._sites.get(url[: url.index("/", 8)]) or self._site(url)
        trapped = self._traps.length(url) or (None if scope.ok else (Refusal.SCOPE, scope.detail))
        trapped = trapped or self._excluded(url) or self._traps.path(url)
        if trapped is not None:
            return _Refused(url, (host, trapped[0], rule_of(*trapped)), trapped[1], url)
        return Found(url, host, sitemap_key(url, speaks_for), raw)

    def _learn_needed(self, raw: str, base: Base | None, directory: str) -> _Outcome:
        outcome = self._needed_outcome(raw, base)
        if len(raw) <= self._length_max and (raw[:1] not in _SUSPECT or _needs_directory_only(raw)):
            if len(self._needed) >= NEEDED_CACHED:
                self._needed.clear()
            self._needed[directory, raw] = outcome
        return outcome

    def _needed_outcome(self, raw: str, base: Base | None) -> _Outcome:
        address, refusal = self._normalizer.join(raw, base)
        if address is None:
            assert refusal is not None
            return _Refused(None, ("", refusal, ""), _INVALID_DETAIL[refusal], raw)
        url, spelling = (self._normalizer.folded(address), address) if self._normalizer.folds else (address, None)
        if url == spelling or len(address) > self._length_max:
            spelling = None
        host = politeness_key(hostname_of(url))
        trapped = self._traps.length(url) or self._excluded(url) or self._traps.path(url)
        if trapped is not None:
            return _Refused(url, (host, trapped[0], rule_of(*trapped)), trapped[1], url)
        return Found(url, host, requisite_key(url), raw, spelling)

    def _of_host(self, outcome: _Outcome, host: str) -> _Outcome:
        if self.requisites is Requisites.ALL or isinstance(outcome, _Refused) or outcome.host == host:
            return outcome
        detail = f"scope.requisites is {self.requisites}, and the page that needs it is of {host}"
        return _Refused(outcome.url, (outcome.host, Refusal.REQUISITE, ""), detail, outcome.url)

    def _known(self, directory: str, links: int) -> dict[str, _Outcome]:
        """The outcomes of a directory, with room for this many more."""
        if self._outcomes_count + links >= OUTCOMES_CACHED:
            self._outcomes.clear()
            self._outcomes_count = 0
        if links >= OUTCOMES_CACHED:
            return {}
        known = self._outcomes.get(directory)
        if known is None:
            # The directory counts too: pages without links would fill the cache unseen.
            known = self._outcomes[directory] = {}
            self._outcomes_count += 1
        return known

    def _learn(self, raw: str, base: Base | None, known: dict[str, _Outcome]) -> _Outcome:
        first = raw[:1]
        if first == "#":
            return self._own_page(raw, base)
        if "#" in raw:
            return self._outcome_of_page(raw, base, known)
        outcome = self._outcome(raw, base)
        if len(raw) <= self._length_max and (first not in _SUSPECT or _needs_directory_only(raw)):
            known[raw] = outcome
        return outcome

    def _outcome_of_page(self, raw: str, base: Base | None, known: dict[str, _Outcome]) -> _Outcome:
        # A link to a place inside another page: the outcome of that page is remembered, not that of each place.
        page = raw[: raw.index("#")]
        if page[-1] <= " ":
            return self._outcome(raw, base)  # blanks at the end mean something only before a fragment
        outcome = known.get(page) or self._learn(page, base, known)
        return _found(Found, (*outcome[:3], raw, outcome[4])) if type(outcome) is Found else outcome

    def _own_page(self, raw: str, base: Base | None) -> _Outcome:
        # Documentation pages link to dozens of their own headings: each of them is the page, which is judged once.
        if self._own is None or self._own[0] is not base:
            self._own = base, self._outcome(raw, base)
        return self._own[1]

    def _outcome(self, raw: str, base: Base | None) -> _Outcome:
        """Judged by everything but depth and nofollow, which belong to the page and not to the URL."""
        address, refusal = self._normalizer.join(raw, base)
        if address is None:
            assert refusal is not None
            return _Refused(None, ("", refusal, ""), _INVALID_DETAIL[refusal], raw)
        url, spelling = (self._normalizer.folded(address), address) if self._normalizer.folds else (address, None)
        if url == spelling or len(address) > self._length_max:
            spelling = None
        host = self._easy.get(url[: url.rfind("/", 0, -1)])
        plain = host is not None and "?" not in url and len(url) <= self._length_max
        if plain and url[url.rfind(".") :].lower() not in self._extensions:
            return _found(Found, (url, host, url_key(url), raw, spelling))
        return self._full_outcome(raw, url, spelling)

    def _full_outcome(self, raw: str, url: str, spelling: str | None) -> _Outcome:
        host, scope = self._sites.get(url[: url.index("/", 8)]) or self._site(url)
        trapped = self._trapped(url, scope)
        if trapped is not None:
            return _Refused(url, (host, trapped[0], rule_of(*trapped)), trapped[1], url)
        self._remember_parent(url, host)
        return Found(url, host, url_key(url), raw, spelling)

    def _remember_parent(self, url: str, host: str) -> None:
        """URLs beside an admitted one need only a look at length and ending, where patterns and path rules allow."""
        parent = url[: url.rfind("/", 0, -1)]
        if len(parent) > 8 and "?" not in parent and self._no_patterns and self._traps.has_room(parent):
            if len(self._easy) >= PARENTS_CACHED:
                self._easy.clear()
            self._easy[parent] = host

    def _trapped(self, url: str, scope: Decision) -> tuple[Refusal, str] | None:
        if trapped := self._traps.length(url):
            return trapped
        if not scope.ok:
            return Refusal.SCOPE, scope.detail
        return self._unwanted(url) or self._traps.extension(url) or self._traps.path(url)

    def _excluded(self, url: str) -> tuple[Refusal, str] | None:
        if self._exclude and (pattern := self._exclude.first_match(url)) is not None:
            return Refusal.EXCLUDE, f"matches {pattern}"
        return None

    def _unwanted(self, url: str) -> tuple[Refusal, str] | None:
        if excluded := self._excluded(url):
            return excluded
        if self._include and self._include.first_match(url) is None:
            return Refusal.INCLUDE, "matches no include pattern"
        return None

    def _too_deep(self, outcome: _Outcome) -> _Refused:
        if isinstance(outcome, _Refused):
            host, refusal, _ = outcome.kind
            if refusal in _BEFORE_DEPTH:
                return outcome
        else:
            host = outcome.host
        url = outcome.url or ""  # only what comes before depth has none
        return _Refused(url, (host, Refusal.DEPTH, ""), f"deeper than {self._max_depth}", url)

    def _site(self, url: str) -> _Site:
        if len(self._sites) >= SITES_CACHED:
            self._sites.clear()
        hostname = hostname_of(url)
        site = self._sites[url[: url.index("/", 8)]] = politeness_key(hostname), self._scope.judge(hostname)
        return site

    def _hosts_of(self, seeds: Sequence[str]) -> list[str]:
        urls = (self._normalizer.resolve(seed)[0] for seed in seeds)
        return [hostname_of(url) for url in urls if url is not None]


# First characters of references that may depend on more than the directory; the parser strips blanks and controls.
_SUSPECT = frozenset(["", "?", "#", "h", "H", *map(chr, range(33))])


def _needs_directory_only(raw: str) -> bool:
    """Does this reference mean the same on every page of a directory? Not `?x`, `#x`, an empty one, nor `http:?x`."""
    return raw[:1] in ("h", "H") and (raw.startswith(("http://", "https://")) or ":" not in raw)


def _counted(
    refused: dict[str, _Refused], exampled: dict[RefusalKind, int]
) -> tuple[dict[RefusalKind, int], list[str], list[Example]]:
    counts: dict[RefusalKind, int] = {}
    urls: list[str] = []
    wanted: list[RefusalKind] = []
    for url, kind, _, _ in refused.values():
        seen = counts.get(kind)
        if seen:
            counts[kind] = seen + 1
        else:
            counts[kind] = 1
            if exampled.get(kind, 0) < EXAMPLED_PAGES:
                wanted.append(kind)
        # A URL that is too long is counted but not kept: the list is bounded in bytes too.
        if url is not None and kind[1] is not Refusal.LENGTH and len(urls) < REFUSED_URLS_MAX:
            urls.append(url)
    return counts, urls, _examples(refused, wanted, exampled) if wanted else []


def _examples(
    refused: dict[str, _Refused], wanted: list[RefusalKind], exampled: dict[RefusalKind, int]
) -> list[Example]:
    """The first links of each kind that is wanted; `exampled` learns that this page has given some."""
    found: dict[RefusalKind, list[Example]] = {}
    for kind in wanted:
        if kind in exampled or len(exampled) < EXAMPLED_KINDS_MAX:
            exampled[kind] = exampled.get(kind, 0) + 1
            found[kind] = []
    for outcome in refused.values():
        given = found.get(outcome.kind)
        if given is not None and len(given) < EXAMPLES_OF_PAGE:
            given.append(example_of(outcome.kind, outcome.shown))
    return [example for given in found.values() for example in given]
