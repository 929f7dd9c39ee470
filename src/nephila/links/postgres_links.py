"""The link index of a cluster: arrays of the numbers of targets with a GIN index, in the store's own database."""

from collections.abc import Iterable, Sequence
from typing import Any

from nephila.derived.postgres_pages import Connection, PostgresPages, StatementCursor
from nephila.links.index import (
    LINKING_MAX,
    NOBODY,
    VERSION,
    Link,
    Linking,
    PageLinks,
    linking_of,
    target_number,
    unpacked_links,
)
from nephila.statements import named_statements

SQL = named_statements("nephila.links", "sql", "postgres.sql")
TURN_LOCK = 0x4E45504E  # "NEPN": advisory, of whoever changes the index


class PostgresLinks(PostgresPages[PageLinks]):
    def __init__(self, database: Connection) -> None:
        super().__init__(database, "links", VERSION, TURN_LOCK, SQL)

    def _row(self, page: PageLinks) -> PageLinks:
        return page

    def _put_in(self, cursor: StatementCursor, rows: Sequence[Any]) -> None:
        for page in rows:
            cursor.execute(SQL["put_in"], tuple(page))

    def linking(self, crawl: int, url: str, limit: int, offset: int) -> Linking:
        if not self._readable():
            return NOBODY
        values = {"target": target_number(crawl, url), "linking": LINKING_MAX + 1, "limit": limit, "offset": offset}
        with self.database.write() as cursor:
            cursor.execute(SQL["by_index"])
            rows = cursor.execute(SQL["linking"], values).fetchall()
        return linking_of([found for _, found in rows if found is not None], int(rows[0][0]))

    def links_of(self, ids: Iterable[int]) -> dict[int, list[Link]]:
        return {url_id: unpacked_links(packed) for url_id, packed in self._rows(SQL["links_of"], (list(ids),))}
