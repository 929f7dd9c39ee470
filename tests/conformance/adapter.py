"""What ../shared/conformance/judge.py calls: nothing here but the project's own functions."""

from nephila.profiles import crawl_settings
from nephila.robots.rules import parse_robots
from nephila.urls.normalize import Normalizer, parse

_strict = Normalizer(crawl_settings("strict").norm)


def robots_allowed(robots: bytes, product_token: str, url: str) -> bool:
    # match, not judge: three reference cases ask what the rules say of /robots.txt itself, which we always allow.
    return parse_robots(robots).rules_for(product_token).match(url).ok


def url_parse(text: str, base: str | None) -> str | None:
    return parse(text, base)


def url_canonicalize(url: str) -> str:
    resolved, refusal = _strict.resolve(url)
    assert resolved is not None, refusal
    return resolved


def encoding(html: bytes) -> str:
    from nephila.extract.encoding import sniff_encoding

    return sniff_encoding(html)


def ssrf_allowed(url: str) -> bool:
    from nephila.fetch.guard import judge_url

    return judge_url(url).ok
