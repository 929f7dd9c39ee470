"""Reading an archived page: find its place, read it, undo its codings. For the command line, API and follower."""

from dataclasses import dataclass

from nephila.archive.archive import Archive
from nephila.archive.reader import ArchivedResponse, read_response
from nephila.errors import UsageError
from nephila.extract.encoding import charset_of, decode_html
from nephila.fetch.body import decode_body
from nephila.fetch.headers import Headers
from nephila.frontier.records import UrlRow
from nephila.models import ArchivePlace
from nephila.profiles import CrawlSettings

BINARY_LOOK = 8192  # bytes that are looked through for a NUL


class NotArchived(UsageError):
    """Nothing is archived of this URL."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """An archived answer. The body of a revisit is that of the response it refers to."""

    response: ArchivedResponse  # as received
    body: bytes  # decoded, up to the limit of its crawl

    def header(self, name: str) -> list[str]:
        """The values of a header, whose name is given in lower case."""
        return Headers(self.response.headers).all(name)

    @property
    def is_binary(self) -> bool:
        return b"\0" in self.body[:BINARY_LOOK]

    def text(self, bytes_max: int) -> tuple[str | None, str | None]:
        """The text of the first `bytes_max` bytes and its charset; neither where the body is binary."""
        if self.is_binary:
            return None, None
        declared = next(iter(self.header("content-type")), None)
        text, charset = decode_html(self.body[:bytes_max], charset_of(declared))
        return text.encode("utf-8", "replace").decode(), charset


def page_of(archive: Archive, row: UrlRow, settings: CrawlSettings) -> PageContent:
    """The archived page of a URL. NotArchived where there is none, ArchiveError where it cannot be read."""
    if row.archive_file is None or row.archive_offset is None or row.archive_length is None:
        why = f"{row.state}{f' ({row.reason})' if row.reason else ''}"
        raise NotArchived(f"nothing is archived of {row.url}: it is {why}")
    place = ArchivePlace(row.archive_file, row.archive_offset, row.archive_length)
    return page_at(archive, place, settings.fetch.body_bytes_max)


def page_at(archive: Archive, place: ArchivePlace, body_bytes_max: int) -> PageContent:
    response = read_response(archive, place)
    return PageContent(response, decode_body(Headers(response.headers), response.body, body_bytes_max).body)
