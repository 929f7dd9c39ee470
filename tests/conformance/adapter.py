"""What ../shared/conformance/judge.py calls: nothing here but the project's own functions."""

from nephila.profiles import crawl_settings
from nephila.robots.rules import parse_robots
from nephila.urls.normalize import Normalizer, parse

_strict = Normalizer(crawl_settings("strict").norm)


def robots_allowed(robots: bytes, product_token: str, url: str) -> bool:
    # match, not judge: three reference cases ask what the rules say of /robots.txt itself, which we always allow.
    rule = parse_robots(robots).rules_for(product_token).match(url)
    return rule is None or rule.allow


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


def sitemap(data: bytes, content_type: str | None, url: str) -> tuple[str, list[str]]:
    from nephila.extract.encoding import charset_of
    from nephila.extract.sitemap import SitemapFile

    file = SitemapFile(data, charset_of(content_type))
    found = [parse(entry.loc, url) or "" for entries in file for entry in entries]
    return str(file.format), found
