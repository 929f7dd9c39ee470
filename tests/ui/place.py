"""A server with something to look at: two hosts, a small site with everything a crawl meets, a crawl that is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx

from tests.command import Command
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS, until
from tests.site.fixtures import moved
from tests.site.server import DEFAULT_HOST, Handler, Page, Sites, TestWeb
from tests.site.sitemaps import urlset

V1 = "/api/v1"
OTHER_HOST = "127.0.0.2"
QUICK = {"fetch.allow_private": True, "polite.floor_ms": 0, "polite.adaptive": False, "retry.max": 0}
QUICK |= {"sitemaps.mode": "off"}  # requests are counted
# An answer that comes late, or that the test holds back, is no failure.
QUICK |= {f"fetch.{name}_timeout_ms": PATIENCE_MS for name in ("connect", "first_byte", "total")}
QUICK |= {"robots.timeout_ms": PATIENCE_MS}
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
SECTIONS = ("guide", "reference", "blog")
PAGES_PER_SECTION = 12


@dataclass(frozen=True, slots=True)
class Place:
    url: str
    crawl: int
    web: TestWeb


def page(title: str, *links: str, text: str = "") -> Page:
    anchors = "".join(f'<a href="{link}">x</a> ' for link in links)
    return Page(f"<!doctype html><title>{title}</title><h1>{title}</h1>{text}{anchors}".encode())


def small_site(port: int) -> Sites:
    """Sections with pages that link to each other, and one of each trouble."""
    pages: dict[str, Any] = {"/robots.txt": Page(ROBOTS, content_type="text/plain")}
    for section in SECTIONS:
        paths = [f"/{section}/{number}" for number in range(PAGES_PER_SECTION)]
        pages[f"/{section}/"] = page(section.title(), *paths, "/")
        for at, path in enumerate(paths):
            near = paths[(at + 1) % len(paths)]
            text = "<p>Text.</p>" * (at + 1)
            pages[path] = page(f"{section} {at}", near, f"/{section}/", "/guide/0", text=text)
    troubles = ["/gone", "/secret", "/broken", "/moved", "/private/x"]
    pages |= {"/secret": Page(status=403), "/broken": Page(status=500), "/moved": moved("/guide/")}
    other = f"http://{OTHER_HOST}:{port}/"
    pages["/"] = page("Home", *(f"/{section}/" for section in SECTIONS), *troubles, other)
    there = {"/": page("Other", "/a", "/b"), "/a": page("A", "/"), "/b": page("B", "/")}
    return {DEFAULT_HOST: pages, OTHER_HOST: there | {"/robots.txt": Page(status=404)}}


def start(client: httpx.Client, seeds: list[str], **settings: Any) -> int:
    answer = client.post(f"{V1}/crawls", json={"seeds": seeds, "settings": QUICK | settings})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def finish(client: httpx.Client, crawl: int) -> None:
    until(lambda: client.get(f"{V1}/crawls/{crawl}").json()["ended_at"])


def indexed(client: httpx.Client) -> None:
    """Waits until all that was archived can be found."""
    until(lambda: client.get(f"{V1}/search", params={"q": "any"}).raise_for_status().json()["pending_bytes"] == 0)


@contextmanager
def served(nephila: Command, *arguments: str) -> Iterator[tuple[Any, str, httpx.Client]]:
    """The process, its address and a client."""
    with (
        nephila.serving("--workers", "1", *arguments) as (process, url),
        httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client,
    ):
        yield process, url, client


@contextmanager
def finished_place(nephila: Command, web: TestWeb) -> Iterator[Place]:
    web.add(small_site(web.port))
    with served(nephila) as (process, url, client):
        seeds = [web.url("/"), web.url("/", OTHER_HOST)]
        crawl = start(client, seeds)
        finish(client, crawl)
        indexed(client)
        yield Place(url, crawl, web)
        assert process.poll() is None, f"the server ended by itself, code {process.returncode}: {process.stderr.read()}"


BUSY_HOSTS = tuple(f"127.0.0.{number}" for number in range(1, 7))
BUSY_PAGES = 90
BUSY_VISITED = 240
SENTENCES = (  # for snippets that look like some
    "This guide begins with the orb: a web of golden silk, spun anew in the early morning.",
    "Where two threads meet, the spider leaves a drop of glue. How much, is a matter for another guide.",
    "A line is dropped into the wind and held until it catches; no guide could say where.",
    "Old webs are eaten at night, and nothing of the silk is lost.",
)


@contextmanager
def busy_place(nephila: Command, web: TestWeb) -> Iterator[Place]:
    """A crawl of six hosts in full swing, for pictures: politeness makes it last."""
    for host in BUSY_HOSTS:
        web.add({host: busy_site(host) | {"/sitemap.xml": busy_sitemap(web.url("/", host))}})
    with nephila.serving("--workers", "2") as (_, url), httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
        given = {"polite.floor_ms": 120, "sitemaps.mode": "auto"}
        crawl = start(client, [web.url("/", host) for host in BUSY_HOSTS], **given)
        until(lambda: client.get(f"{V1}/crawls/{crawl}").json()["states"].get("visited", 0) > BUSY_VISITED)
        yield Place(url, crawl, web)


def busy_site(host: str) -> dict[str, Page | Handler]:
    """Sections of many pages, of which some answer slowly, some not at all."""
    pages: dict[str, Page | Handler] = {"/robots.txt": Page(ROBOTS, content_type="text/plain")}
    for section in SECTIONS:
        paths = [f"/{section}/{number}" for number in range(BUSY_PAGES)]
        pages[f"/{section}/"] = page(f"{section.title()} of {host}", *paths, "/")
        for at, path in enumerate(paths):
            pages[path] = busy_page(section, at, paths[(at * 7 + 1) % len(paths)])
    pages["/moved"] = moved("/guide/")
    pages["/"] = page(f"Home of {host}", *(f"/{section}/" for section in SECTIONS), "/moved", "/gone", "/private/x")
    return pages


def busy_sitemap(base: str) -> Page:
    """Half of the guide, pages that nothing links to, and images."""
    paths = [
        *(f"guide/{number}" for number in range(0, BUSY_PAGES, 2)),
        *(f"archive/{year}" for year in range(2015, 2026)),
    ]
    image = f"<image:image><image:loc>{base}logo.png</image:loc></image:image>"
    return urlset([base + path for path in paths], image)


def busy_page(section: str, at: int, near: str) -> Page:
    if at % 29 == 11:
        return Page(status=500)
    if at % 23 == 5:
        return Page(status=403)
    made = page(f"{section.title()} {at}", near, f"/{section}/", f"/missing/{at % 4}", text=busy_text(at))
    return replace(made, delay_ms=3 * (at % 17))


def busy_text(at: int) -> str:
    """Longer from page to page."""
    return "".join(f"<p>{SENTENCES[(at + number) % len(SENTENCES)]}</p>" for number in range(at % 9 + 1))
