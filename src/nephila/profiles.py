"""Crawl settings: one frozen record per crawl, made from a named profile plus overrides.

This is the single table of crawl settings: names, bounds, defaults and help. A test compares docs/settings.md with it.
"""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from nephila.errors import SettingRefused, UnknownSetting

VERSION = 1  # of the record's fields; stored with it


class TrailingSlash(StrEnum):
    KEEP = "keep"
    STRIP = "strip_except_root"


class QueryRule(StrEnum):
    PRESERVE = "preserve"
    SORT = "sort"
    SORT_STRIP = "sort_strip_tracking"


class ScopeMode(StrEnum):
    SAME_HOST = "same_host"
    SAME_DOMAIN = "same_domain"
    LIST = "list"
    ANY = "any"


class AtMaxDepth(StrEnum):
    FETCH = "fetch_no_expand"
    RECORD = "record_only"


class Requisites(StrEnum):
    NONE = "none"
    SAME_HOST = "same_host"
    ALL = "all"


class SitemapMode(StrEnum):
    AUTO = "auto"
    ONLY = "only"
    OFF = "off"


class RobotsMode(StrEnum):
    OBEY = "obey"
    IGNORE = "ignore"


class RobotsOnError(StrEnum):
    RFC9309 = "rfc9309"
    ALLOW = "allow"


class RedirectMode(StrEnum):
    ENQUEUE = "enqueue"
    RECORD = "record"
    FOLLOW = "follow"


class ContentStore(StrEnum):
    WARC = "warc"
    NONE = "none"


Ms = Annotated[int, Field(ge=0, le=7 * 86_400_000)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Limit = Annotated[int, Field(ge=1, le=10**15)] | None

DOCUMENT_EXTENSIONS = """
    .7z .aac .avi .bin .bmp .bz2 .css .csv .deb .dmg .doc .docx .eot .eps .epub .exe .flac .flv .gif .gz
    .ico .iso .jar .jpeg .jpg .js .m4a .m4v .mkv .mov .mp3 .mp4 .mpeg .mpg .msi .odp .ods .odt .ogg .otf
    .pdf .png .ppt .pptx .ps .rar .rpm .svg .swf .tar .tgz .tif .tiff .ttf .wav .webm .webp .wma .wmv
    .woff .woff2 .xls .xlsx .xz .zip .zst
""".split()  # noqa: SIM905 -- a list of 70 quoted words is no table


class SettingGroup(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NormSettings(SettingGroup):
    """How two spellings of a URL become one. Fixed for the life of a crawl: identity depends on it."""

    trailing_slash: TrailingSlash = Field(
        TrailingSlash.KEEP, description="keep a trailing slash, or strip it everywhere but at the root"
    )
    query: QueryRule = Field(
        QueryRule.PRESERVE,
        description="keep the query as it is, sort it by key, or sort it and drop tracking parameters",
    )
    fold_scheme: bool = Field(False, description="treat http and https as one URL (https is kept)")
    fold_www: bool = Field(False, description="treat www.example.com and example.com as one URL (without www is kept)")


class ScopeSettings(SettingGroup):
    """Which URLs belong to the crawl."""

    mode: ScopeMode = Field(
        ScopeMode.SAME_HOST,
        description="hosts of the seeds and their www twins, their registrable domains, a list, or any host",
    )
    hosts: tuple[str, ...] = Field((), description="the hosts of mode `list` (a leading dot means: and all below it)")
    include: tuple[str, ...] = Field(
        (), description="patterns (with * and ?) of which one must match a URL; none: every URL may pass"
    )
    exclude: tuple[str, ...] = Field((), description="patterns (with * and ?) none of which may match a URL")
    max_depth: Count = Field(50, description="links away from a seed")
    at_max_depth: AtMaxDepth = Field(
        AtMaxDepth.FETCH, description="at the depth limit: fetch without following links, or only record the URL"
    )
    skip_extensions: tuple[str, ...] = Field(
        tuple(DOCUMENT_EXTENSIONS), description="path endings of links that are not crawled unless include_documents"
    )
    include_documents: bool = Field(
        False,
        description="links to images, archives, PDFs and the like are pages of the crawl, too: skip_extensions refuses "
        "none. What pages embed is not fetched by this: see requisites",
    )
    requisites: Requisites = Field(
        Requisites.NONE,
        description="what pages need to look as they do (images, stylesheets, scripts, fonts) is archived with them: "
        "nothing, what lies on the same host as the page (its name without `www.`), or all of it, from any host",
    )
    url_length_max: int = Field(2048, ge=64, le=65_536, description="longer URLs are refused")
    path_segments_max: int = Field(32, ge=1, le=1000, description="URLs with more path segments are refused (a trap)")
    path_repeats_max: int = Field(
        3, ge=1, le=1000, description="URLs that repeat a path segment more often are refused (a trap)"
    )
    follow_nofollow: bool = Field(
        False, description="follow links marked rel=nofollow and links of pages whose robots meta says nofollow"
    )


class LimitSettings(SettingGroup):
    """Where a crawl ends before its frontier does."""

    max_pages: Limit = Field(None, description="pages that end `visited`, of a type that content.accept names")
    max_urls: Limit = Field(None, description="URLs that are admitted at all, requisites too")
    max_frontier: Limit = Field(
        None, description="open pages at a time: links that come when there are so many are refused until there is room"
    )
    evict: bool = Field(
        False, description="at max_frontier admit links all the same, and let the least important open URLs go"
    )
    max_urls_per_host: int = Field(1_000_000, ge=1, le=10**12, description="URLs of one host that are fetched")
    max_seconds: Limit = Field(None, description="seconds since the crawl began, pauses not counted")
    max_bytes: Limit = Field(None, description="bytes received in bodies")


class PoliteSettings(SettingGroup):
    """How gently a host is treated. delay = max(floor, robots crawl-delay, override, adaptive)."""

    floor_ms: Ms = Field(1000, description="the shortest gap between two requests to a host")
    jitter_ms: Ms = Field(0, description="a random addition of up to this to each gap")
    adaptive: bool = Field(True, description="let slow hosts rest longer: a multiple of their mean latency")
    adaptive_factor: float = Field(
        5.0, ge=0, le=100, description="adaptive delay = this times the moving average of latency"
    )
    adaptive_min_ms: Ms = Field(250, description="lower bound of the adaptive delay")
    adaptive_max_ms: Ms = Field(30_000, description="upper bound of the adaptive delay")
    crawl_delay_cap_ms: Ms = Field(300_000, description="a robots crawl-delay above this parks the host")
    pause_ms: Ms = Field(
        0, description="a pause of the whole crawl after each start of a request, whatever its host; in each worker"
    )
    max_inflight: int = Field(
        1, ge=1, le=1000, description="requests to one host at a time; above 1 the delay counts from starts"
    )


class RetrySettings(SettingGroup):
    """When a URL is tried again."""

    max: int = Field(2, ge=0, le=100, description="tries after the first one")
    base_ms: Ms = Field(1000, description="wait before the first retry")
    factor: float = Field(2.0, ge=1, le=10, description="each further wait is longer by this factor")
    cap_ms: Ms = Field(30_000, description="the longest wait")
    retry_after_cap_ms: Ms = Field(3_600_000, description="the longest Retry-After that is honoured")
    rate_limit_counts: bool = Field(True, description="a 429 uses up a try")
    rate_limit_max: int = Field(50, ge=1, le=1000, description="the ceiling on tries where a 429 does not use one up")


class HostSettings(SettingGroup):
    """What happens to a host that fails."""

    backoff_errors: int = Field(5, ge=1, le=1000, description="errors in a row after which the host rests 2^n minutes")
    backoff_base_ms: Ms = Field(60_000, description="the first rest")
    backoff_cap_ms: Ms = Field(3_600_000, description="the longest rest")
    death_errors: int = Field(
        10, ge=0, le=100_000, description="errors in a row after which the host is given up; 0: never"
    )
    nxdomain_confirmations: int = Field(
        1, ge=0, le=10, description="further look-ups before a name that does not exist is given up"
    )
    cooldown_base_ms: Ms = Field(
        0, description="rest after 403, 429, 5xx and transport errors, doubling with each; 0: off"
    )
    cooldown_max_ms: Ms = Field(5000, description="the longest such rest")
    wait_for_seeds: bool = Field(
        False,
        description="when no seed can be reached, go on trying as at hosts that are found later; else the crawl ends "
        "`failed` after retry.max further tries",
    )


class RobotsSettings(SettingGroup):
    mode: RobotsMode = Field(RobotsMode.OBEY, description="obey or ignore robots.txt, robots meta and X-Robots-Tag")
    on_error: RobotsOnError = Field(
        RobotsOnError.RFC9309, description="5xx or unreachable: hold the host (RFC 9309), or allow everything"
    )
    cache_seconds: int = Field(86_400, ge=60, le=30 * 86_400, description="robots.txt is fetched again after this")
    timeout_ms: int = Field(10_000, ge=100, le=600_000, description="deadline of a robots.txt fetch")
    attempts_max: int = Field(5, ge=1, le=100, description="failed fetches after which the host's URLs end `excluded`")
    retry_ms: Ms = Field(10_000, description="wait between two attempts, doubling")
    force: bool = Field(
        False,
        description="crawl hosts whose crawl-delay is above polite.crawl_delay_cap_ms at that cap instead of parking "
        "them; only for sites of your own (NEPHILA_OWN_HOSTS)",
    )


class SitemapSettings(SettingGroup):
    """Pages that a site lists itself. A sitemap is asked for as a page is: by robots.txt, on the host's clock."""

    mode: SitemapMode = Field(
        SitemapMode.AUTO,
        description="auto: those that robots.txt of a host in scope names; of the origin of a seed that names none "
        "/sitemap.xml. only: the same, and links are not followed: pages come from seeds and sitemaps alone. off: only "
        "those of sitemaps.urls",
    )
    urls: tuple[str, ...] = Field(
        (), description="sitemaps to read: seeds, which may list URLs of every host in scope", max_length=10_000
    )


class RedirectSettings(SettingGroup):
    mode: RedirectMode = Field(
        RedirectMode.ENQUEUE,
        description="the target is a URL of its own, is only recorded, or is followed at once inside one host",
    )
    max_hops: int = Field(5, ge=0, le=50, description="redirects in a row that are followed")


class DnsSettings(SettingGroup):
    """When names become addresses. A look-up is no request to the host: politeness does not wait for it."""

    resolve_discovered: bool = Field(
        False,
        description="look the name of every host up as soon as it is discovered, once, and record it; else only of "
        "hosts that are to be asked. Not behind a proxy",
    )


class ContentSettings(SettingGroup):
    store: ContentStore = Field(
        ContentStore.WARC, description="archive every response as WARC, or keep only the record"
    )
    edges: bool = Field(True, description="keep the links of every page")
    accept: tuple[str, ...] = Field(
        (),
        description="content types that are pages, like text/html or text/*; others end `visited` (content_type), are "
        "not read and do not count against max_pages. None: every type; so is an answer without one",
    )


class FetchSettings(SettingGroup):
    user_agent: str = Field("", max_length=500, description="empty: Nephila/<version> (+contact url)")
    headers: tuple[tuple[str, str], ...] = Field((), description="further request headers")
    proxy: str | None = Field(
        None,
        description="http, https or socks5 URL of a proxy. The addresses of each name are looked up and judged here "
        "before the proxy gets it, unless fetch.allow_private is set",
    )
    allow_private: bool = Field(False, description="permit private, loopback and link-local addresses")
    http2: bool = Field(True, description="speak HTTP/2 where the server does (TLS only)")
    connect_timeout_ms: int = Field(10_000, ge=1, le=600_000, description="deadline of the TCP connection")
    tls_timeout_ms: int = Field(10_000, ge=1, le=600_000, description="deadline of the TLS handshake, after connecting")
    first_byte_timeout_ms: int = Field(
        20_000, ge=1, le=600_000, description="deadline of the first byte, after sending the request"
    )
    total_timeout_ms: int = Field(60_000, ge=1, le=3_600_000, description="deadline of the whole response")
    header_bytes_max: int = Field(131_072, ge=1024, le=10_000_000, description="longer headers are an error")
    body_bytes_max: int = Field(
        16_777_216, ge=1024, le=2_000_000_000, description="longer bodies are cut and marked truncated"
    )


REDACTED = "(redacted)"
# Request headers whose values are no secret. Of all others nobody knows.
HARMLESS_HEADERS = frozenset(
    [
        "accept",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "dnt",
        "from",
        "if-modified-since",
        "if-none-match",
        "origin",
        "pragma",
        "referer",
        "upgrade-insecure-requests",
        "user-agent",
    ]
)


def shown_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Headers as others may see them: tokens, cookies and the like are left out."""
    return tuple((name, REDACTED if value and _may_be_secret(name) else value) for name, value in headers)


def _may_be_secret(header: str) -> bool:
    return header.strip(": ").lower() not in HARMLESS_HEADERS


def shown_proxy(proxy: str) -> str:
    """The URL of a proxy without its user and password."""
    scheme, mark, rest = proxy.rpartition("://")
    return f"{scheme}{mark}{REDACTED}@{rest.rpartition('@')[2]}" if "@" in rest else proxy


class CrawlSettings(SettingGroup):
    """The whole record. Rate limits (polite.*) may change while a crawl runs; what identity depends on may not."""

    version: int = Field(VERSION, description="of this record's shape")
    profile: str = Field("default", description="the profile this was made from")
    norm: NormSettings = NormSettings()
    scope: ScopeSettings = ScopeSettings()
    limits: LimitSettings = LimitSettings()
    polite: PoliteSettings = PoliteSettings()
    retry: RetrySettings = RetrySettings()
    host: HostSettings = HostSettings()
    robots: RobotsSettings = RobotsSettings()
    sitemaps: SitemapSettings = SitemapSettings()
    redirects: RedirectSettings = RedirectSettings()
    dns: DnsSettings = DnsSettings()
    content: ContentSettings = ContentSettings()
    fetch: FetchSettings = FetchSettings()

    def value(self, name: str) -> Any:
        """The value of a setting by its full name, like polite.floor_ms."""
        group, _, field = name.partition(".")
        return getattr(getattr(self, group), field)

    def values(self) -> dict[str, Any]:
        """Every setting by its name, as `crawl_settings` takes it."""
        groups = self.model_dump(mode="json", exclude={"version", "profile"}).items()
        return {f"{group}.{field}": value for group, fields in groups for field, value in fields.items()}

    def redacted(self) -> "CrawlSettings":
        """As everybody may see them who may look at the crawl: without credentials."""
        fetch = self.fetch
        shown = {"headers": shown_headers(fetch.headers), "proxy": fetch.proxy and shown_proxy(fetch.proxy)}
        return self.model_copy(update={"fetch": fetch.model_copy(update=shown)})


# What each profile changes against the defaults above. Those of the documents find URLs by links alone, as these say.
PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "default": {},
    "strict": {
        "scope": {"max_depth": 25},
        "limits": {"max_urls": 5000},
        "polite": {"floor_ms": 40, "jitter_ms": 25, "adaptive": False, "max_inflight": 4},
        "retry": {"retry_after_cap_ms": 30_000},
        # The cooldown is the only rest: a host never dies here, so longer rests would never end its run.
        "host": {"death_errors": 0, "backoff_cap_ms": 5000, "cooldown_base_ms": 500, "cooldown_max_ms": 5000},
        "robots": {"mode": "ignore"},
        "sitemaps": {"mode": "off"},
        "redirects": {"mode": "record", "max_hops": 3},
        "fetch": {"total_timeout_ms": 5000},
    },
    "graph": {
        "norm": {"trailing_slash": "strip_except_root"},
        "scope": {"mode": "any", "max_depth": 2, "at_max_depth": "record_only"},
        "polite": {"adaptive": False},
        "robots": {"mode": "ignore"},
        "sitemaps": {"mode": "off"},
        "redirects": {"max_hops": 3},
        "dns": {"resolve_discovered": True},
    },
    "smallweb": {
        "scope": {"mode": "same_domain"},
        "polite": {"floor_ms": 10_000, "adaptive": False},
        "sitemaps": {"mode": "off"},
    },
    "broad": {
        "norm": {"trailing_slash": "strip_except_root", "query": "sort_strip_tracking", "fold_www": True},
        "scope": {"mode": "any"},
        "limits": {"max_frontier": 50_000_000, "max_urls_per_host": 1000},
        "polite": {"floor_ms": 250},
        "retry": {"max": 1, "rate_limit_counts": False},
        "sitemaps": {"mode": "off"},
        "fetch": {
            "connect_timeout_ms": 2000,
            "tls_timeout_ms": 2000,
            "first_byte_timeout_ms": 3000,
            "total_timeout_ms": 5000,
        },
    },
    "jobs": {
        "norm": {"trailing_slash": "strip_except_root", "query": "sort"},
        "scope": {"mode": "same_domain", "max_depth": 3},
        "limits": {"max_pages": 10_000},
        "polite": {"adaptive": False},
        "retry": {"base_ms": 10_000, "factor": 1.0},
        "robots": {"on_error": "allow", "timeout_ms": 5000},
        "sitemaps": {"mode": "off"},
        "redirects": {"mode": "follow", "max_hops": 3},
        "content": {"accept": ("text/html", "application/xhtml+xml")},
        "fetch": {"total_timeout_ms": 10_000},
    },
}


# Every crawl setting by its full name, like polite.floor_ms.
SETTINGS: dict[str, FieldInfo] = {
    f"{group}.{name}": field
    for group, model in CrawlSettings.model_fields.items()
    if isinstance(model.default, SettingGroup)
    for name, field in type(model.default).model_fields.items()
}


def setting_field(name: str) -> FieldInfo:
    if name not in SETTINGS:
        raise UnknownSetting(name)
    return SETTINGS[name]


def crawl_settings(profile: str = "default", overrides: Mapping[str, Any] | None = None) -> CrawlSettings:
    """The settings of a profile with overrides like {"polite.floor_ms": 500}."""
    if profile not in PROFILES:
        raise SettingRefused("profile", repr(profile), f"choose one of {', '.join(PROFILES)}")
    tree: dict[str, Any] = {group: dict(values) for group, values in PROFILES[profile].items()}
    for name, value in (overrides or {}).items():
        setting_field(name)
        group, _, field = name.partition(".")
        tree.setdefault(group, {})[field] = value
    try:
        return CrawlSettings(profile=profile, **tree)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
        raise SettingRefused(name, repr(first["input"]), first["msg"].lower()) from None


class Variable(NamedTuple):
    """A variable of the environment that a document names: the default of a crawl setting, in the document's unit."""

    name: str
    setting: str
    factor: int = 1  # from its unit to ours


# In the order of docs/settings.md. Of two for one setting the larger number holds: both ask for politeness.
VARIABLES = (
    Variable("CRAWL_MAX_PAGES", "limits.max_urls"),  # document 000 counts discovered URLs
    Variable("CRAWL_MAX_DEPTH", "scope.max_depth"),
    Variable("MAX_RETRIES", "retry.max"),
    Variable("FETCH_CONCURRENCY_PER_HOST", "polite.max_inflight"),
    Variable("FETCH_MIN_GAP_PER_HOST_MS", "polite.floor_ms"),
    Variable("CRAWLER_MIN_DOMAIN_DELAY_SECONDS", "polite.floor_ms", 1000),
    Variable("FETCH_GAP_JITTER_MS", "polite.jitter_ms"),
    Variable("FETCH_HOST_COOLDOWN_BASE_MS", "host.cooldown_base_ms"),
    Variable("FETCH_HOST_COOLDOWN_MAX_MS", "host.cooldown_max_ms"),
)


def environment_settings(env: Mapping[str, str]) -> dict[str, int]:
    """The crawl settings that the documents' variables set, for crawls that do not set them themselves.

    UsageError: a value that its setting does not take; it names the variable.
    """
    found: dict[str, int] = {}
    for variable in VARIABLES:
        text = env.get(variable.name, "").strip()
        if text:
            found[variable.setting] = max(_number(variable, text), found.get(variable.setting, 0))
    return found


def _number(variable: Variable, text: str) -> int:
    try:
        value = round(float(text) * variable.factor) if variable.factor > 1 else int(text)
        crawl_settings(overrides={variable.setting: value})
    except (ValueError, OverflowError):
        raise SettingRefused(variable.name, repr(text), "it must be a number") from None
    except SettingRefused as error:
        raise SettingRefused(variable.name, repr(text), error.why) from None
    return value


def settings_from_json(text: str) -> CrawlSettings:
    """The settings of a stored crawl. One from before there were sitemaps goes on without them."""
    tree = json.loads(text)
    if isinstance(tree, dict):
        tree.setdefault("sitemaps", {"mode": SitemapMode.OFF})
    return CrawlSettings.model_validate(tree)
