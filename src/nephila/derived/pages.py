"""What everything derived of pages has in common: it follows archive files, of each of which it remembers a mark, up to
where its rows are derived.

Values and mark move in one transaction, so a death at any moment loses nothing and repeats nothing.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class DerivedPage(Protocol):
    """What is known of a page: at least what it is found and forgotten by."""

    @property
    def url_id(self) -> int: ...

    @property
    def crawl(self) -> int: ...


class DerivedPages(Protocol):
    """Not shared between threads. Reading never makes anything: what is not there, or of another version, is empty."""

    def turn(self) -> AbstractContextManager[bool]:
        """Whether this process may change it until the context ends; of several one may. Makes what is missing or
        old."""

    def marks(self) -> dict[str, int]:
        """The mark of each archive file: its rows up to this offset are derived."""

    def crawls(self) -> dict[int, str]:
        """The uuid of each crawl that has pages here."""

    def count(self) -> int:
        """Number of pages."""

    def add(self, file: str, start: int, end: int, pages: Sequence[Any], uuids: Mapping[int, str]) -> bool:
        """Put pages in, replacing those with the same ids, and move the file's mark from start to end. False, and
        nothing done: the mark was elsewhere. `uuids`: of the pages' crawls."""

    def forget_crawl(self, crawl: int, pages_max: int) -> int:
        """Remove up to `pages_max` pages of a crawl; 0 when none was left and the crawl is forgotten."""

    def forget_files(self, files: Sequence[str]) -> None:
        """Remove the marks of files that are gone."""

    def close(self) -> None: ...
