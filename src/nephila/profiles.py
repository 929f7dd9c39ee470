"""What a crawl may do: one frozen record per crawl, made from a named profile plus overrides.

This is the single table of crawl settings: names, bounds, defaults and help. A test compares docs/settings.md with it.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nephila.errors import UsageError

VERSION = 1  # of the record's shape; stored with it


class TrailingSlash(StrEnum):
    KEEP = "keep"
    STRIP = "strip_except_root"


class Query(StrEnum):
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


class Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NormSettings(Group):
    """How two spellings of a URL become one. Fixed for the life of a crawl: identity depends on it."""

    trailing_slash: TrailingSlash = Field(
        TrailingSlash.KEEP, description="keep a trailing slash, or strip it everywhere but at the root"
    )
    query: Query = Field(
        Query.PRESERVE, description="keep the query as it is, sort it by key, or sort it and drop tracking parameters"
    )
    fold_scheme: bool = Field(False, description="treat http and https as one URL (https is kept)")
    fold_www: bool = Field(False, description="treat www.example.com and example.com as one URL (without www is kept)")


class ScopeSettings(Group):
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
        tuple(DOCUMENT_EXTENSIONS), description="path endings that are not crawled unless include_documents"
    )
    include_documents: bool = Field(False, description="crawl images, archives, PDFs and the like too")
    url_length_max: int = Field(2048, ge=64, le=65_536, description="longer URLs are refused")
    path_segments_max: int = Field(32, ge=1, le=1000, description="URLs with more path segments are refused (a trap)")
    path_repeats_max: int = Field(
        3, ge=1, le=1000, description="URLs that repeat a path segment more often are refused (a trap)"
    )
    follow_nofollow: bool = Field(
        False, description="follow links marked rel=nofollow and links of pages whose robots meta says nofollow"
    )


class LimitSettings(Group):
    """Where a crawl ends before its frontier does."""

    max_pages: Limit = Field(None, description="pages that end `visited`")
    max_urls: Limit = Field(None, description="URLs that are admitted at all")
    max_urls_per_host: int = Field(1_000_000, ge=1, le=10**12, description="URLs of one host that are fetched")
    max_seconds: Limit = Field(None, description="seconds since the crawl began, pauses not counted")
    max_bytes: Limit = Field(None, description="bytes received in bodies")


class PoliteSettings(Group):
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
    max_inflight: int = Field(
        1, ge=1, le=1000, description="requests to one host at a time; above 1 the delay counts from starts"
    )


class RetrySettings(Group):
    """When a URL is tried again."""

    max: int = Field(2, ge=0, le=100, description="tries after the first one")
    base_ms: Ms = Field(1000, description="wait before the first retry")
    factor: float = Field(2.0, ge=1, le=10, description="each further wait is longer by this factor")
    cap_ms: Ms = Field(30_000, description="the longest wait")
    retry_after_cap_ms: Ms = Field(3_600_000, description="the longest Retry-After that is honoured")
    rate_limit_counts: bool = Field(True, description="a 429 uses up a try")
    rate_limit_max: int = Field(50, ge=1, le=1000, description="the ceiling on tries where a 429 does not use one up")


class HostSettings(Group):
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


class RobotsSettings(Group):
    mode: RobotsMode = Field(RobotsMode.OBEY, description="obey or ignore robots.txt, robots meta and X-Robots-Tag")
    on_error: RobotsOnError = Field(
        RobotsOnError.RFC9309, description="5xx or unreachable: hold the host (RFC 9309), or allow everything"
    )
    cache_seconds: int = Field(86_400, ge=60, le=30 * 86_400, description="robots.txt is fetched again after this")
    timeout_ms: int = Field(10_000, ge=100, le=600_000, description="deadline of a robots.txt fetch")
    attempts_max: int = Field(5, ge=1, le=100, description="failed fetches after which the host's URLs end `excluded`")
    retry_ms: Ms = Field(10_000, description="wait between two attempts, doubling")


class RedirectSettings(Group):
    mode: RedirectMode = Field(
        RedirectMode.ENQUEUE,
        description="the target is a URL of its own, is only recorded, or is followed at once inside one host",
    )
    max_hops: int = Field(5, ge=0, le=50, description="redirects in a row that are followed")


class DnsSettings(Group):
    """When names become addresses. A look-up is no request to the host: politeness does not wait for it."""

    resolve_discovered: bool = Field(
        False,
        description="look the name of a host up as soon as it is discovered, once; else when it is first asked for a "
        "page. Behind a proxy names are never looked up",
    )


class ContentSettings(Group):
    store: ContentStore = Field(
        ContentStore.WARC, description="archive every response as WARC, or keep only the record"
    )
    edges: bool = Field(True, description="keep the links of every page")


class FetchSettings(Group):
    user_agent: str = Field("", max_length=500, description="empty: Nephila/<version> (+contact url)")
    headers: tuple[tuple[str, str], ...] = Field((), description="further request headers")
    proxy: str | None = Field(None, description="http, https or socks5 URL of a proxy")
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


class CrawlSettings(Group):
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
    redirects: RedirectSettings = RedirectSettings()
    dns: DnsSettings = DnsSettings()
    content: ContentSettings = ContentSettings()
    fetch: FetchSettings = FetchSettings()


# What each profile changes against the defaults above (requirements.md, part 2).
PROFILES: dict[str, dict[str, dict[str, Any]]] = {
    "default": {},
    "strict": {
        "scope": {"max_depth": 25},
        "limits": {"max_urls": 5000},
        "polite": {"floor_ms": 40, "jitter_ms": 25, "adaptive": False, "max_inflight": 4},
        "host": {"death_errors": 0, "cooldown_base_ms": 500, "cooldown_max_ms": 5000},
        "robots": {"mode": "ignore"},
        "redirects": {"mode": "record", "max_hops": 3},
        "fetch": {"total_timeout_ms": 5000},
    },
    "graph": {
        "norm": {"trailing_slash": "strip_except_root"},
        "scope": {"mode": "any", "max_depth": 2, "at_max_depth": "record_only"},
        "polite": {"adaptive": False},
        "robots": {"mode": "ignore"},
        "redirects": {"max_hops": 3},
        "dns": {"resolve_discovered": True},
    },
    "smallweb": {
        "scope": {"mode": "same_domain"},
        "polite": {"floor_ms": 10_000, "adaptive": False},
    },
    "broad": {
        "norm": {"trailing_slash": "strip_except_root", "query": "sort_strip_tracking", "fold_www": True},
        "scope": {"mode": "any"},
        "limits": {"max_urls": 50_000_000, "max_urls_per_host": 1000},
        "polite": {"floor_ms": 250},
        "retry": {"max": 1, "rate_limit_counts": False},
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
        "redirects": {"mode": "follow", "max_hops": 3},
        "fetch": {"total_timeout_ms": 10_000},
    },
}


def crawl_settings(profile: str = "default", overrides: Mapping[str, Any] | None = None) -> CrawlSettings:
    """The settings of a profile with overrides like {"polite.floor_ms": 500}."""
    if profile not in PROFILES:
        raise UsageError(f"unknown profile {profile!r}: choose one of {', '.join(PROFILES)}")
    tree: dict[str, Any] = {group: dict(values) for group, values in PROFILES[profile].items()}
    for name, value in (overrides or {}).items():
        group, _, field = name.partition(".")
        if not isinstance(CrawlSettings.model_fields.get(group) and tree.setdefault(group, {}), dict) or not field:
            raise UsageError(f"unknown setting {name!r}: `nephila settings` lists them all")
        tree[group][field] = value
    try:
        return CrawlSettings(profile=profile, **tree)
    except ValidationError as error:
        raise UsageError(_one_line(error)) from None


def settings_from_json(text: str) -> CrawlSettings:
    return CrawlSettings.model_validate(json.loads(text))


def _one_line(error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
    if first["type"] == "extra_forbidden":
        return f"unknown setting {name!r}: `nephila settings` lists them all"
    return f"setting {name} cannot be {first['input']!r}: {first['msg'].lower()}"
