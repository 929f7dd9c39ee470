"""The settings that a request asks for, judged before anything is made; what is wrong is named by its field."""

from collections.abc import Mapping
from typing import Any

from nephila.api.access import Caller
from nephila.api.problems import Problem
from nephila.control.access import allows
from nephila.errors import UsageError
from nephila.frontier.operators import Access
from nephila.profiles import PROFILES, CrawlSettings, ScopeMode, crawl_settings

# They reach into the network of the server, past the address guard.
ADMIN_SETTINGS = frozenset(("fetch.allow_private", "fetch.proxy"))
PROXY_SCHEMES = ("http://", "https://", "socks5://", "socks5h://")
NOT_IN_A_NAME = frozenset(' ()<>@,;:\\"/[]?={}')
VALUE_CHARS_MAX = 100_000  # of one setting, written out


def checked_settings(caller: Caller, profile: str, overrides: Mapping[str, Any]) -> CrawlSettings:
    if profile not in PROFILES:
        raise Problem(422, f"unknown profile {profile!r}: choose one of {', '.join(PROFILES)}", field="profile")
    for name, value in overrides.items():
        _check_one(caller, name, value)
    try:
        settings = crawl_settings(profile, overrides)
    except UsageError as error:
        raise Problem(422, str(error), field=_culprit(overrides)) from None
    _check_together(settings)
    return settings


def _check_one(caller: Caller, name: str, value: Any) -> None:
    field = f"settings.{name}"
    if name in ADMIN_SETTINGS and value and not allows(caller.access, Access.ADMIN):
        raise Problem(403, f"{name} needs a token with access admin", field=field)
    if not _printable(value):
        raise Problem(422, f"{name} must be plain text without control characters", field=field)
    if len(repr(value)) > VALUE_CHARS_MAX:
        raise Problem(422, f"{name} is too long", field=field)


def _printable(value: Any) -> bool:
    """Of strings at any depth: some become headers, all are stored."""
    if isinstance(value, str):
        return value.isprintable()
    if isinstance(value, Mapping):
        return all(_printable(part) for pair in value.items() for part in pair)
    return all(map(_printable, value)) if isinstance(value, list | tuple) else True


def _culprit(overrides: Mapping[str, Any]) -> str:
    for name, value in overrides.items():
        try:
            crawl_settings(overrides={name: value})
        except UsageError:
            return f"settings.{name}"
    return "settings"


def _check_together(settings: CrawlSettings) -> None:
    if settings.scope.mode is ScopeMode.LIST and not settings.scope.hosts:
        raise Problem(422, "scope.mode `list` needs hosts: set scope.hosts", field="settings.scope.hosts")
    for name, _ in settings.fetch.headers:
        if not name or not name.isascii() or not NOT_IN_A_NAME.isdisjoint(name):
            raise Problem(422, f"{name!r} is no name of a header", field="settings.fetch.headers")
    proxy = settings.fetch.proxy
    if proxy is not None and not proxy.startswith(PROXY_SCHEMES):
        raise Problem(422, f"a proxy begins with one of {', '.join(PROXY_SCHEMES)}", field="settings.fetch.proxy")
