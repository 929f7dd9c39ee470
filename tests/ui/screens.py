"""Every screen by its address, and what shows that it is there. Used by the checks of all screens and the pictures."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Screen:
    name: str
    path: str  # with {crawl}, {url}, {host}
    heading: str = ""  # of level 1, where it is known
    shows: str = ""  # a text that is there when its data are


SCREENS = (
    Screen("crawls", "/crawls", "Crawls", "URLs ended"),
    Screen("new-crawl", "/crawls/new", "New crawl", "Advanced"),
    Screen("crawl", "/crawls/{crawl}", "", "Latest visits"),
    Screen("urls", "/crawls/{crawl}/urls", "", "/guide/0"),
    Screen("inspector", "/crawls/{crawl}/urls?inspect={url}", "", "/guide/0"),
    Screen("graph", "/crawls/{crawl}/graph", "", "nodes"),
    Screen("crawl-hosts", "/crawls/{crawl}/hosts", "", "{host}"),
    Screen("pages", "/crawls/{crawl}/pages", "", "guide 1"),
    Screen("compare", "/crawls/{crawl}/compare?since={crawl}", "", "the same since crawl"),
    Screen("refused", "/crawls/{crawl}/refused", "", "refused"),
    Screen("sitemaps", "/crawls/{crawl}/sitemaps", "", "that only sitemaps list"),
    Screen("broken", "/crawls/{crawl}/broken", "", "/gone"),
    Screen("search", "/search?q=guide", "Search", "fetched"),
    Screen("hosts", "/hosts", "Hosts", "{host}"),
    Screen("host", "/hosts/{host}", "", "robots.txt"),
    Screen("workers", "/workers", "Workers", ""),
    Screen("admin", "/admin", "Admin", ""),
)
