"""What another crawl of the same store knows of each URL of a crawl: looked up by host and key."""

from typing import NamedTuple

from nephila.frontier.rows import stored
from nephila.frontier.tables import OverTables, Values
from nephila.models import STATES_BY_CODE, UrlState


class StoredUrl(NamedTuple):
    """A URL as a crawl has it."""

    id: int
    state: UrlState  # QUEUED for whatever is open
    content_hash: bytes | None


class Counterpart(NamedTuple):
    url: str
    own: StoredUrl
    other: StoredUrl | None  # None: the other crawl does not have this URL


class Counterparts(OverTables):
    def counterparts(self, crawl_id: int, other_id: int, after: int, limit: int) -> list[Counterpart]:
        """The pages of a crawl by id, `limit` behind the id `after`, each with what the other crawl has of it."""
        found = self.tables.rows("counterparts", crawl=crawl_id, other=other_id, after=after, limit=limit)
        return [_counterpart(row) for row in found]


@stored
def _counterpart(row: Values) -> Counterpart:
    id, url, code, digest, other, other_code, other_digest = row
    known = None if other is None else StoredUrl(other, STATES_BY_CODE[other_code], other_digest)
    return Counterpart(url, StoredUrl(id, STATES_BY_CODE[code], digest), known)
