"""What the options of `crawl` mean as crawl settings. Pure."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, get_args, get_origin

from nephila.cli.words import parse_duration
from nephila.errors import UsageError
from nephila.profiles import CrawlSettings, Group

PROXY_SCHEMES = ("http://", "https://", "socks5://", "socks5h://")


class ScopeChoice(StrEnum):
    SAME_HOST = "same-host"
    SAME_DOMAIN = "same-domain"
    LIST = "list"
    ANY = "any"


def given(wishes: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was said: an option left out, or a list without entries, changes nothing."""
    return {name: value for name, value in wishes.items() if value is not None and value != [] and value is not False}


def pace_of(delay: str | None) -> dict[str, Any]:
    """`--delay D` sets the floor and turns the adaptive part off."""
    if delay is None:
        return {}
    return {"polite.floor_ms": round(parse_duration(delay, "--delay") * 1000), "polite.adaptive": False}


def headers_of(lines: Iterable[str]) -> list[tuple[str, str]]:
    return [_header(line) for line in lines]


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or " " in name or not line.isprintable():
        raise UsageError(f"--header cannot be {line!r}: write it as 'Name: value'")
    return name, value


def checked_proxy(url: str | None) -> str | None:
    if url is not None and not url.startswith(PROXY_SCHEMES):
        raise UsageError(f"--proxy cannot be {url!r}: it must begin with one of {', '.join(PROXY_SCHEMES)}")
    return url


def assignments_of(lines: Iterable[str]) -> dict[str, Any]:
    """`--set polite.floor_ms=500`, for every crawl setting."""
    return dict(_assignment(line) for line in lines)


def _assignment(line: str) -> tuple[str, Any]:
    name, equals, text = line.partition("=")
    name = name.strip()
    if not equals:
        raise UsageError(f"--set cannot be {line!r}: write it as NAME=VALUE, like polite.floor_ms=500")
    return name, _value(_annotation(name), text.strip())


def _annotation(name: str) -> Any:
    group, _, field = name.partition(".")
    model = CrawlSettings.model_fields.get(group)
    if model is None or not isinstance(model.annotation, type) or not issubclass(model.annotation, Group):
        raise UsageError(f"unknown setting {name!r}: `nephila settings` lists them all")
    if field not in model.annotation.model_fields:
        raise UsageError(f"unknown setting {name!r}: `nephila settings` lists them all")
    return model.annotation.model_fields[field].annotation


def _value(annotation: Any, text: str) -> Any:
    """As the settings record takes it: it reads numbers, booleans and words from text itself, lists and nothing not."""
    if get_origin(annotation) is tuple:
        return _list(text)
    if text.lower() in ("none", "null", "unset") and type(None) in get_args(annotation):
        return None
    return text


def _list(text: str) -> Any:
    if not text.startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f"{text!r} is no list: write a,b,c or JSON") from None
