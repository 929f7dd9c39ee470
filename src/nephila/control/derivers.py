"""What is derived of an archived page: one function for each derivation. They run in a helper process only."""

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

from nephila.control.pages import PageContent
from nephila.extract.directives import directives_of
from nephila.extract.text import text_of

SEARCH = "search"


class CrawlRules(NamedTuple):
    """What deriving needs to know of a crawl."""

    body_bytes_max: int
    obeys_robots: bool


class DeriveJob(NamedTuple):
    """One record, and the names of what is derived of it."""

    offset: int
    length: int
    url: str
    content_type: str | None
    rules: CrawlRules
    names: tuple[str, ...]


def search_text(page: PageContent, job: DeriveJob) -> str | None:
    """The text that a page is found by; None where it asks not to be found."""
    tags = page.header("x-robots-tag")
    # The row of an HTML page says so itself; the crawl does not look for it in other types.
    if tags and job.rules.obeys_robots and directives_of((), tags).noindex:
        return None
    # What has no text is found by its address.
    return text_of(page.body, job.content_type) or unquote(job.url)


DERIVERS: dict[str, Callable[[PageContent, DeriveJob], Any]] = {SEARCH: search_text}
