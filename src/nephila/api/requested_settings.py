"""The crawl settings that a request gives, checked before anything is made; an error names its field."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from nephila.api.access import Caller
from nephila.api.problems import Problem
from nephila.control.access import allows
from nephila.errors import SettingRefused, UnknownSetting, UsageError
from nephila.fetch.guard import judge_url
from nephila.fetch.manners import FORCE, ROBOTS
from nephila.frontier.tokens import Access
from nephila.profiles import PROFILES, CrawlSettings, ScopeMode, crawl_settings, environment_settings

# These settings reach into the network of the server, past the address guard, or past what robots.txt asks for.
ADMIN_SETTINGS = frozenset(("fetch.allow_private", "fetch.proxy", FORCE))
PROXY_SCHEMES = ("http://", "https://", "socks5://", "socks5h://")
NOT_IN_A_NAME = frozenset(' ()<>@,;:\\"/[]?={}')
LISTED = "GET /api/v1/settings lists them all"
VALUE_CHARS_MAX = 100_000  # of one setting, as text


def checked_settings(
    caller: Caller, profile: str, overrides: Mapping[str, Any], *, private_proxies: bool
) -> CrawlSettings:
    """`private_proxies`: the operator lets crawls reach private addresses, so their proxies may have one, too."""
    if profile not in PROFILES:
        raise Problem(422, f"profile cannot be {profile!r}: choose one of {', '.join(PROFILES)}", field="profile")
    for name, value in overrides.items():
        _check_one(caller, name, value)
    try:
        settings = crawl_settings(profile, environment_settings(os.environ) | dict(overrides))
    except UsageError as error:
        raise _refusal(error, overrides) from None
    _check_together(settings)
    _check_proxy(settings, private_proxies)
    return settings


def check_loosened(caller: Caller, loosened: Sequence[str], foreign: str, fields: Mapping[str, str]) -> None:
    """Only an operator may ask foreign hosts faster than usual, or without their robots.txt.

    `foreign`: one of these hosts; `fields`: the fields of the request by the settings that they give.
    """
    if not loosened or allows(caller.access, Access.ADMIN):
        return
    field = fields[loosened[0]]
    what = f"{field} `ignore`" if loosened[0] == ROBOTS else f"a shorter delay than usual ({field})"
    raise Problem(403, f"{what} on hosts that are not your own ({foreign}) needs access admin", field=field)


def _check_one(caller: Caller, name: str, value: Any) -> None:
    field = f"settings.{name}"
    if name in ADMIN_SETTINGS and value and not allows(caller.access, Access.ADMIN):
        raise Problem(403, f"{field} needs a token with access admin", field=field)
    if not _printable(value):
        raise Problem(422, f"{field} must be plain text without control characters", field=field)
    if len(repr(value)) > VALUE_CHARS_MAX:
        raise Problem(422, f"{field} is too long", field=field)


def _printable(value: Any) -> bool:
    """No string at any depth has control characters: some become headers, all are stored."""
    if isinstance(value, str):
        return value.isprintable()
    if isinstance(value, Mapping):
        return all(_printable(part) for pair in value.items() for part in pair)
    return all(map(_printable, value)) if isinstance(value, list | tuple) else True


def _refusal(error: UsageError, overrides: Mapping[str, Any]) -> Problem:
    """What is wrong with the first field that is; where each is right, what is wrong with all together."""
    for name, value in overrides.items():
        field = f"settings.{name}"
        try:
            crawl_settings(overrides={name: value})
        except UnknownSetting:
            return Problem(422, str(UnknownSetting(name, known=LISTED)), field=field)
        except SettingRefused as refused:
            return Problem(422, str(refused.at(field)), field=field)
    return Problem(422, str(error), field="settings")


def _check_together(settings: CrawlSettings) -> None:
    if settings.scope.mode is ScopeMode.LIST and not settings.scope.hosts:
        field = "settings.scope.hosts"
        raise Problem(422, f"settings.scope.mode `list` needs hosts: give {field}", field=field)
    for name, _ in settings.fetch.headers:
        if not name or not name.isascii() or not NOT_IN_A_NAME.isdisjoint(name):
            raise Problem(422, f"settings.fetch.headers: {name!r} is no name of one", field="settings.fetch.headers")


def _check_proxy(settings: CrawlSettings, private_proxies: bool) -> None:
    """A proxy is a place that workers connect to: its text is judged here, its address when they do."""
    proxy, field = settings.fetch.proxy, "settings.fetch.proxy"
    if proxy is None:
        return
    if not proxy.startswith(PROXY_SCHEMES):
        raise Problem(422, f"{field} begins with one of {', '.join(PROXY_SCHEMES)}", field=field)
    guard = judge_url(f"http://{proxy.partition('://')[2]}")
    if not (guard.ok or private_proxies):
        raise Problem(
            422, f"{field} is refused ({guard.detail}): start server and workers with --allow-private", field=field
        )
