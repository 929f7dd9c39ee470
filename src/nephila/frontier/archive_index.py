"""The archive as the store knows it: its files, and which rows name places in them."""

from nephila.frontier.records import ArchivedPage, ArchivedRow
from nephila.frontier.rows import archived_page
from nephila.frontier.tables import OverTables


class ArchiveIndex(OverTables):
    def archive_files(self) -> list[tuple[str, int, bool, int]]:
        """(name, worker, open, bytes cut off) of each file."""
        return [(name, worker, bool(is_open), cut) for name, worker, is_open, cut in self.tables.rows("archive_files")]

    def archive_sizes(self) -> list[tuple[str, int]]:
        """(name, bytes) of each file: so many bytes are durable, and the rows that name places there are committed."""
        return [(name, size) for name, size in self.tables.rows("archive_sizes")]

    def pages_in_file(self, name: str, start: int, end: int, limit: int) -> list[ArchivedPage]:
        """Rows of any state whose place begins in this stretch of the file, by offset. Fewer than `limit` are all."""
        found = self.tables.rows("pages_in_file", name=name, start=start, end=end, limit=limit)
        return [archived_page(row) for row in found]

    def archived(self, name: str, after: tuple[int, int], limit: int) -> list[ArchivedRow]:
        """Rows that name a record of this file, by offset and page; `after` is the last of those had already."""
        offset, page = after
        return list(
            map(ArchivedRow._make, self.tables.rows("archived", name=name, offset=offset, page=page, limit=limit))
        )

    def forget_file(self, name: str) -> None:
        """Drop the record of a file that was deleted."""
        self.tables.change("forget_file", name=name)
