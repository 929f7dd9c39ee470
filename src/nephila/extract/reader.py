"""What a reader of pages is: a response as it was received goes in, facts and admitted links come out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from nephila.fetch.headers import Headers
from nephila.urls.admission import Admission, Example, Found, RefusalKind

# Of a stylesheet only its requisites are read; of a sitemap its entries; of bytes nothing, their codings are undone.
ReadAs = Literal["page", "stylesheet", "sitemap", "bytes"]


@dataclass(frozen=True, slots=True)
class PageRules:
    """The decisions of one crawl. Rules with the same id differ in the hosts that joined meanwhile at most."""

    id: int | str
    settings_json: str
    seeds: tuple[str, ...]
    joined_hosts: tuple[str, ...] = ()  # later rules have further ones behind these
    obey_robots_meta: bool = True


@dataclass(slots=True)
class ReadRequest:
    url_id: int  # names the page if it kills its process
    host: str  # politeness key: helpers are shared fairly by host
    url: str  # of the response: after redirects
    headers: Headers
    body: bytes  # of the wire: still chunked, still compressed
    body_bytes_max: int  # decoded bodies are cut here
    depth_of_children: int
    rules: PageRules
    admission: Admission  # made of the rules
    alone: bool = False  # in a process of its own: this page has killed a worker before
    read_as: ReadAs = "page"
    speaks_for: str = ""  # of a sitemap: as Admission.judge_listed


@dataclass(slots=True)
class SitemapReading:
    """What a sitemap lists. The entries that were admitted are packed in chunks: a worker unpacks one at a time, and
    50,000 take 2 MB until then."""

    format: str  # of `SitemapFormat`; empty: none
    entries: int = 0  # admitted or not
    admitted: int = 0
    problem: str = ""  # of `SitemapProblem`
    detail: str = ""
    chunks: list[bytes] = field(default_factory=list)  # as `packed_entries` makes them
    noted: dict[str, int] = field(default_factory=dict)  # as `SitemapFile.noted`


@dataclass(slots=True)
class PageReading:
    """What a page says. Of content that is no HTML only what follows from its codings is set: from `content` on."""

    charset: str | None = None
    title: str | None = None
    facts: dict[str, object] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    refused: dict[RefusalKind, int] = field(default_factory=dict)
    refused_urls: list[str] = field(default_factory=list)
    nofollow: bool = False
    content: bytes | None = None  # the decoded body; None: the body of the request itself, or `content_hash` is set
    content_hash: bytes | None = None  # SHA-256 of a body that a helper decoded and kept
    body_bytes: int = 0  # decoded
    truncated: str | None = None  # length: the decoded body was cut; coding: it broke off
    problem: str = ""  # what is wrong with its coding, where it broke off
    examples: list[Example] = field(default_factory=list)  # as Admitted.examples
    requisites: Sequence[Found] = ()  # admitted; only where the crawl wants them
    sitemap: SitemapReading | None = None  # of what is read as one


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """The page killed its helper process, took too long there, or met a fault of ours; or it was not read."""

    kind: Literal["died", "deadline", "error", "crowded", "aborted"]
    detail: str = ""

    @property
    def unread(self) -> bool:
        """The page is not to blame. Crowded: too many bytes waited for a helper. Aborted: by `PageReader.abort`."""
        return self.kind in ("crowded", "aborted")


class PageReader(Protocol):
    """Reads the pages of all crawls of a worker. Only a fault of ours raises: bad pages are readings, too."""

    async def read(self, request: ReadRequest) -> PageReading | ParseFailure:
        """Undo the codings of the body; of HTML read the facts, and judge the links, and what it needs where the crawl
        wants that (`scope.requisites`)."""
        ...

    def abort(self) -> None:
        """End everything that is being read or waits for it, as `aborted`. The next read works."""
        ...

    async def close(self) -> None:
        """Abort, and end every helper."""
        ...
