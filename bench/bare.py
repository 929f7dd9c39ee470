"""The bare loop of bench.heldout: fetch each page and find its links, keep nothing. python -m bench.bare FILE HOW

FILE has a URL a line. It prints JSON: pages, bytes, CPU seconds after the start. How links are found: `lexbor` asks its
tree for `a[href]`, `naive` is one expression that knows neither comments nor scripts, `ours` is `extract_html`.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import uvloop
from selectolax.lexbor import LexborHTMLParser

from nephila.clock import SystemClock
from nephila.extract.html import extract_html
from nephila.fetch.curl import CurlFetcher
from nephila.fetch.fetcher import FetchRequest
from nephila.fetch.resolver import Resolver
from nephila.profiles import crawl_settings

IN_FLIGHT = 48  # as many as a worker has at three hosts of one's own
_href = re.compile(rb"""<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE).findall


def by_lexbor(body: bytes) -> int:
    return len([node.attributes["href"] for node in LexborHTMLParser(body).css("a[href]")])


def by_expression(body: bytes) -> int:
    return len(_href(body))


def by_ours(body: bytes) -> int:
    return len(extract_html(body, "http://127.2.0.1/").links)


WAYS: dict[str, Callable[[bytes], int]] = {"lexbor": by_lexbor, "naive": by_expression, "ours": by_ours}


async def loop(urls: list[str], links_of: Callable[[bytes], int]) -> dict[str, float]:
    settings = crawl_settings("default", {"fetch.allow_private": True}).fetch
    clock = SystemClock()
    fetcher = CurlFetcher(clock, Resolver(clock))
    waiting, got = iter(urls), {"pages": 0, "bytes": 0, "links": 0}

    async def fetch() -> None:
        for url in waiting:
            result = await fetcher.fetch(FetchRequest(url, settings, "bare"))
            got["pages"] += result.status == 200
            got["bytes"] += len(result.body)
            got["links"] += links_of(result.body)

    began = time.process_time()
    await asyncio.gather(*(fetch() for _ in range(IN_FLIGHT)))
    seconds = time.process_time() - began
    await fetcher.close()
    return {**got, "seconds": seconds}


def main() -> None:
    urls = Path(sys.argv[1]).read_text().split()
    print(json.dumps(uvloop.run(loop(urls, WAYS[sys.argv[2]]))))


if __name__ == "__main__":
    main()
