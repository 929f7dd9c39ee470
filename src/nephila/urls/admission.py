"""Which discovered URLs enter a crawl: normalise, then length, scope, depth, exclude, include, extension, traps."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nephila.models import Decision, Refusal
from nephila.profiles import CrawlSettings
from nephila.urls.identity import hostname_of, politeness_key, url_key
from nephila.urls.normalize import Base, Normalizer
from nephila.urls.scope import Patterns, Scope
from nephila.urls.traps import Traps

OUTCOMES_CACHED = 100_000  # cleared when full; 40 MB
SITES_CACHED = 20_000
PARENTS_CACHED = 20_000
REFUSED_URLS_MAX = 100

_INVALID_DETAIL = {Refusal.INVALID: "no URL by the WHATWG standard", Refusal.SCHEME: "neither http nor https"}
_BEFORE_DEPTH = frozenset({Refusal.INVALID, Refusal.SCHEME, Refusal.LENGTH, Refusal.SCOPE})


class Found(NamedTuple):
    """An admitted URL. A tuple, because making a frozen dataclass takes three times as long, 76 times a page."""

    url: str
    host: str  # politeness key
    key: bytes  # 16 bytes
    raw: str  # the href as it was seen


class _Refused(NamedTuple):
    url: str | None
    host: str
    refusal: Refusal
    detail: str


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
    """The links of a page, each distinct URL once."""

    found: list[Found] = field(default_factory=list)
    refused: dict[tuple[str, Refusal], int] = field(default_factory=dict)  # by politeness key ("" if none) and reason
    refused_urls: list[str] = field(default_factory=list)


class Admission:
    """Pure: the same three arguments make the same decisions in any process, so it pickles as them."""

    __slots__ = (
        "_arguments",
        "_easy",
        "_exclude",
        "_extensions",
        "_follow_nofollow",
        "_include",
        "_length_max",
        "_max_depth",
        "_no_patterns",
        "_normalizer",
        "_outcomes",
        "_outcomes_count",
        "_own",
        "_scope",
        "_sites",
        "_traps",
    )

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
        self._length_max = self._traps.length_max
        self._extensions = self._traps.extensions_skipped
        self._sites: dict[str, _Site] = {}
        # URL whose children pass every rule but those of length and ending -> its host
        self._easy: dict[str, str] = {}
        # directory of the base -> href -> outcome; the pages of a directory share most of their links
        self._outcomes: dict[str, dict[str, _Outcome]] = {}
        self._outcomes_count = 0
        self._own: tuple[Base | None, _Outcome] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Admission, self._arguments

    def judge(self, raw: str, base: str | None, depth: int) -> Judgement:
        """One URL: a seed, a redirect target, or what `explain` was asked."""
        outcome = self._outcome(raw, None if base is None else self._normalizer.base_of(base))
        if depth > self._max_depth:
            outcome = self._too_deep(outcome)
        if isinstance(outcome, Found):
            return Judgement(found=outcome, url=outcome.url)
        return Judgement(refusal=outcome.refusal, detail=outcome.detail, url=outcome.url)

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
                if unmarked or not nofollow:
                    found[outcome[0]] = outcome
                else:
                    unfollowed[outcome[0]] = outcome
            else:
                refused[outcome[0] or raw] = outcome  # type: ignore[assignment]
        self._outcomes_count += len(known) - before
        for url, link in unfollowed.items():
            if url not in found:
                refused[url] = _Refused(url, link.host, Refusal.NOFOLLOW, "")
        if depth > self._max_depth:
            refused = {url: self._too_deep(outcome) for url, outcome in (refused | found).items()}
            found = {}
        return Admitted(list(found.values()), *_counted(refused))

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
            return self._of_its_page(raw, base, known)
        outcome = self._outcome(raw, base)
        if len(raw) <= self._length_max and (first not in _SUSPECT or _needs_directory_only(raw)):
            known[raw] = outcome
        return outcome

    def _of_its_page(self, raw: str, base: Base | None, known: dict[str, _Outcome]) -> _Outcome:
        # They link to places inside of other pages, too: these are not remembered each, but their page is.
        page = raw[: raw.index("#")]
        if page[-1] <= " ":
            return self._outcome(raw, base)  # blanks at the end mean something only before a fragment
        outcome = known.get(page) or self._learn(page, base, known)
        return _found(Found, (*outcome[:3], raw)) if type(outcome) is Found else outcome

    def _own_page(self, raw: str, base: Base | None) -> _Outcome:
        # Documentation pages link to dozens of their own headings: all of them are the page, judged once.
        if self._own is None or self._own[0] is not base:
            self._own = base, self._outcome(raw, base)
        return self._own[1]

    def _outcome(self, raw: str, base: Base | None) -> _Outcome:
        """Everything but depth and nofollow, which belong to the page and not to the URL."""
        url, refusal = self._normalizer.join(raw, base)
        if url is None:
            assert refusal is not None
            return _Refused(None, "", refusal, _INVALID_DETAIL[refusal])
        host = self._easy.get(url[: url.rfind("/", 0, -1)])
        plain = host is not None and "?" not in url and len(url) <= self._length_max
        if plain and url[url.rfind(".") :].lower() not in self._extensions:
            return _found(Found, (url, host, url_key(url), raw))
        return self._full_outcome(raw, url)

    def _full_outcome(self, raw: str, url: str) -> _Outcome:
        host, scope = self._sites.get(url[: url.index("/", 8)]) or self._site(url)
        trapped = self._trapped(url, scope)
        if trapped is not None:
            return _Refused(url, host, *trapped)
        self._remember_parent(url, host)
        return Found(url, host, url_key(url), raw)

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

    def _unwanted(self, url: str) -> tuple[Refusal, str] | None:
        if self._exclude and (pattern := self._exclude.first_match(url)) is not None:
            return Refusal.EXCLUDE, f"matches {pattern}"
        if self._include and self._include.first_match(url) is None:
            return Refusal.INCLUDE, "matches no include pattern"
        return None

    def _too_deep(self, outcome: _Outcome) -> _Refused:
        if isinstance(outcome, _Refused) and outcome.refusal in _BEFORE_DEPTH:
            return outcome
        return _Refused(outcome.url, outcome.host, Refusal.DEPTH, f"deeper than {self._max_depth}")

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


def _counted(refused: dict[str, _Refused]) -> tuple[dict[tuple[str, Refusal], int], list[str]]:
    counts: dict[tuple[str, Refusal], int] = {}
    urls: list[str] = []
    for url, host, refusal, _ in refused.values():
        counts[host, refusal] = counts.get((host, refusal), 0) + 1
        # A URL that is too long is counted but not kept: the list is bounded in bytes too.
        if url is not None and refusal is not Refusal.LENGTH and len(urls) < REFUSED_URLS_MAX:
            urls.append(url)
    return counts, urls
