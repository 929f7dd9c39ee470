"""The options of `crawl` that set crawl settings: each names its setting and how its value is read. Pure."""

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, NamedTuple, get_args, get_origin

from nephila.cli.options import flag_of, option, with_options
from nephila.cli.words import parse_duration, parse_size
from nephila.control import crawls
from nephila.errors import SettingRefused, UnknownSetting, UsageError
from nephila.profiles import RedirectMode, RobotsMode, SitemapMode, crawl_settings, setting_field

SCOPE, LIMITS, POLITE, REQUESTS = "What belongs to the crawl", "Limits", "Politeness", "Requests"
LIMIT_PREFIX = "limits."
PRIVATE_WAY = "say --allow-private if it is yours to crawl"
PROXY_SCHEMES = ("http://", "https://", "socks5://", "socks5h://")


class ScopeChoice(StrEnum):
    SAME_HOST = "same-host"
    SAME_DOMAIN = "same-domain"
    LIST = "list"
    ANY = "any"


class RequisitesChoice(StrEnum):
    NONE = "none"
    SAME_HOST = "same-host"
    ALL = "all"


def headers_of(lines: Iterable[str]) -> list[tuple[str, str]]:
    return [_header(line) for line in lines]


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or " " in name or not line.isprintable():
        raise UsageError(f"--header cannot be {line!r}: write it as 'Name: value'")
    return name, value


def checked_proxy(url: str) -> str:
    if not url.startswith(PROXY_SCHEMES):
        raise UsageError(f"--proxy cannot be {url!r}: it must begin with one of {', '.join(PROXY_SCHEMES)}")
    return url


def as_given(value: Any) -> Any:
    return value


class SettingOption(NamedTuple):
    setting: str
    option: inspect.Parameter
    read: Callable[[Any], Any] = as_given

    @property
    def place(self) -> str:
        """What errors name: with the setting, where its value is not as it was given."""
        flag = flag_of(self.option)
        return flag if self.read is as_given else f"{flag} ({self.setting})"


OPTIONS = (
    SettingOption(
        "scope.mode",
        option(SCOPE, ScopeChoice, "--scope", "Hosts of the seeds, their domains, a list, or any host."),
        lambda choice: choice.replace("-", "_"),
    ),
    SettingOption(
        "scope.hosts",
        option(
            SCOPE, list[str], "--scope-host", "A host of --scope list; .example.com means: and all below it.", "HOST"
        ),
    ),
    SettingOption(
        "scope.include", option(SCOPE, list[str], "--include", "Only URLs that match (with * and ?).", "PATTERN")
    ),
    SettingOption(
        "scope.exclude", option(SCOPE, list[str], "--exclude", "No URLs that match (with * and ?).", "PATTERN")
    ),
    SettingOption(
        "scope.include_documents",
        option(
            SCOPE,
            bool,
            "--include-documents",
            "Links to images, archives, PDFs and the like are pages, too (not what pages embed: --requisites).",
            "",
            False,
        ),
    ),
    SettingOption(
        "scope.requisites",
        option(
            SCOPE,
            RequisitesChoice,
            "--requisites",
            "What pages need to look as they do (images, stylesheets, scripts, fonts): none, of the same host, or all.",
        ),
        lambda choice: choice.replace("-", "_"),
    ),
    SettingOption(
        "sitemaps.mode",
        option(
            SCOPE,
            SitemapMode,
            "--sitemaps",
            "Read the sitemaps of the hosts; read them and follow no links; or read only those of --sitemap.",
        ),
    ),
    SettingOption(
        "sitemaps.urls",
        option(SCOPE, list[str], "--sitemap", "A sitemap to begin with (may be repeated).", "URL"),
    ),
    SettingOption(
        "redirects.mode",
        option(
            SCOPE,
            RedirectMode,
            "--redirects",
            "A target is a URL of its own, is only recorded, or is followed at once.",
        ),
    ),
    SettingOption("scope.max_depth", option(LIMITS, int, "--max-depth", "Links away from a seed.", "N")),
    SettingOption("limits.max_pages", option(LIMITS, int, "--max-pages", "Pages that are visited.", "N")),
    SettingOption("limits.max_urls", option(LIMITS, int, "--max-urls", "URLs that are admitted at all.", "N")),
    SettingOption(
        "limits.max_frontier",
        option(LIMITS, int, "--max-frontier", "Open pages at a time; further links are refused.", "N"),
    ),
    SettingOption(
        "limits.max_seconds",
        option(LIMITS, str, "--max-time", "Seconds, or 90s, 10m, 2h.", "TIME"),
        lambda text: round(parse_duration(text, "--max-time")),
    ),
    SettingOption(
        "limits.max_bytes",
        option(LIMITS, str, "--max-bytes", "Bytes, or 500kB, 10MB, 2GiB.", "SIZE"),
        lambda text: parse_size(text, "--max-bytes"),
    ),
    SettingOption(
        "polite.floor_ms",
        option(POLITE, str, "--delay", "Gap between two requests to a host; no adaptive part.", "SECONDS"),
        lambda text: round(parse_duration(text, "--delay") * 1000),
    ),
    SettingOption("polite.max_inflight", option(POLITE, int, "--max-inflight", "Requests to one host at a time.", "N")),
    SettingOption("robots.mode", option(POLITE, RobotsMode, "--robots", "What robots.txt and robots meta are worth.")),
    SettingOption("fetch.user_agent", option(REQUESTS, str, "--user-agent", "How the crawler names itself.", "TEXT")),
    SettingOption(
        "fetch.headers",
        option(REQUESTS, list[str], "--header", "A further request header.", "'Name: value'"),
        headers_of,
    ),
    SettingOption(
        "fetch.proxy", option(REQUESTS, str, "--proxy", "http, https or socks5 proxy.", "URL"), checked_proxy
    ),
    SettingOption(
        "host.wait_for_seeds",
        option(REQUESTS, bool, "--wait", "Wait for a site that cannot be reached yet.", "", False),
    ),
    SettingOption(
        "fetch.allow_private",
        option(REQUESTS, bool, "--allow-private", "Permit private and loopback addresses.", "", False),
    ),
)


PLACES = {"profile": "--profile"} | {each.setting: each.place for each in OPTIONS}


@contextmanager
def naming_options(assigned: Collection[str] = ()) -> Iterator[None]:
    """What is refused inside names the option that gave it; `assigned`: the settings that --set gave."""
    try:
        yield
    except SettingRefused as refused:
        name = refused.setting
        place = f"--set {name}" if name in assigned else PLACES.get(name)
        raise refused.at(place) if place else refused from None
    except crawls.PrivateSeed as private:
        raise crawls.PrivateSeed(private.seed, private.detail, PRIVATE_WAY) from None
    except crawls.LimitConflict as conflict:
        raise conflict.at(PLACES[LIMIT_PREFIX + conflict.limit].partition(" ")[0]) from None


def overrides_of(**given: Any) -> dict[str, Any]:
    """The crawl settings that these options set: an option left out changes nothing."""
    found = {
        each.setting: each.read(given[each.option.name])
        for each in OPTIONS
        if given.get(each.option.name) not in (None, [])
    }
    # `--delay D` is the whole delay, not only its floor.
    return found | {"polite.adaptive": False} if "polite.floor_ms" in found else found


with_overrides = with_options("overrides", tuple(each.option for each in OPTIONS), overrides_of)


LIMIT_OPTIONS = tuple(each for each in OPTIONS if each.setting.startswith(LIMIT_PREFIX))


def limits_of(**given: Any) -> dict[str, int]:
    """The limits that these options set, by the names of `LimitSettings`, checked as those of a new crawl are."""
    found = overrides_of(**given)
    with naming_options():
        crawl_settings(overrides=found)
    return {name.removeprefix(LIMIT_PREFIX): value for name, value in found.items()}


with_limits = with_options("limits", tuple(each.option for each in LIMIT_OPTIONS), limits_of)


def assignments_of(lines: Iterable[str]) -> dict[str, Any]:
    """Crawl settings of lines like `polite.floor_ms=500` (--set), with values as `CrawlSettings` takes them."""
    return dict(_assignment(line) for line in lines)


def _assignment(line: str) -> tuple[str, Any]:
    name, equals, text = line.partition("=")
    name = name.strip()
    if not equals:
        raise UsageError(f"--set cannot be {line!r}: write it as NAME=VALUE, like polite.floor_ms=500")
    try:
        return name, _value(name, setting_field(name).annotation, text.strip())
    except UnknownSetting:
        raise UnknownSetting(name, "--set names an ") from None


def _value(name: str, annotation: Any, text: str) -> Any:
    """A list or None where the text means one; pydantic reads numbers, booleans and words from text itself."""
    if get_origin(annotation) is tuple:
        return _list(name, text)
    if text.lower() in ("none", "null", "unset") and type(None) in get_args(annotation):
        return None
    return text


def _list(name: str, text: str) -> Any:
    if not text.startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f"--set {name} cannot be {text!r}: write a,b,c or JSON") from None
