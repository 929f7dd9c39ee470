"""The file of the embedded index: it may be deleted or damaged at any time, and is made again."""

import threading
from pathlib import Path

import pytest

from nephila.errors import StoreUnavailable
from nephila.search.index import Document
from nephila.search.query import parse_query
from nephila.search.sqlite_fts import FILE, SqliteIndex

DOCUMENT = Document(1, 1, "a.test", "http://a.test/", "Title", "silk", 5)


def fill(index: SqliteIndex) -> None:
    with index.turn() as ours:
        assert ours and index.add("file", index.marks().get("file", 0), 10, [DOCUMENT], {1: "one"})


def total(index: SqliteIndex) -> int:
    return index.search(parse_query("silk"), None, None, 10, 0).total


def test_looking_makes_no_file(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path)
    assert (total(index), index.count(), index.marks(), index.crawls()) == (0, 0, {}, {})
    assert list(tmp_path.iterdir()) == []


def test_it_may_be_deleted_while_it_is_open(tmp_path: Path) -> None:
    index, other = SqliteIndex(tmp_path), SqliteIndex(tmp_path)
    fill(index)
    assert total(index) == total(other) == 1
    for path in tmp_path.glob(f"{FILE}*"):
        path.unlink()
    assert total(index) == total(other) == 0
    fill(index)
    assert total(index) == total(other) == 1
    index.close()
    other.close()


@pytest.mark.parametrize("content", [b"not a database " * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_damaged_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    index = SqliteIndex(tmp_path)
    with pytest.raises(StoreUnavailable, match="made anew"):
        total(index)
    index.close()
    fill(index)
    assert total(index) == 1
    index.close()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable), SqliteIndex(tmp_path / "none").turn():
        pass


def test_an_index_is_made_while_others_look_at_it(tmp_path: Path) -> None:
    """The first search and the first step of the follower come at the same time: both get along."""
    for number in range(20):
        folder, faults, made = tmp_path / str(number), list[Exception](), threading.Event()
        folder.mkdir()

        def look(folder: Path = folder, faults: list[Exception] = faults, made: threading.Event = made) -> None:
            looking = SqliteIndex(folder)
            try:
                while not made.is_set():
                    looking.count()
            except Exception as error:
                faults.append(error)
            looking.close()

        lookers = [threading.Thread(target=look) for _ in range(2)]
        for looker in lookers:
            looker.start()
        index = SqliteIndex(folder)
        try:
            with index.turn() as ours:
                assert ours
        finally:
            made.set()
            for looker in lookers:
                looker.join()
            index.close()
        assert faults == []


def test_a_forgotten_crawl_gives_its_space_back(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path)
    pages = [
        Document(n, 1 + n // 200, "a.test", f"http://a.test/{n}", "Title", f"silk {'x' * n} " * 20, 5)
        for n in range(210)
    ]
    with index.turn():
        index.add("file", 0, 10, pages, {1: "one", 2: "two"})
    index.close()
    before = (tmp_path / FILE).stat().st_size
    with index.turn():
        while index.forget_crawl(1, 50):
            pass
    assert (tmp_path / FILE).stat().st_size < before / 2
    assert total(index) == 10, "the pages of the other crawl are still found"
    index.close()
