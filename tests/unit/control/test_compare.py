"""What a difference is, and the comparison in memory. tests/contract/test_compared.py has that of the store."""

from collections import Counter

import pytest

from nephila.control.compare import SAME, By, Change, Known, change_of, differences
from nephila.control.export_reader import ExportedUrl

VISITED, OTHER_BODY, NO_BODY = Known("visited", "aa"), Known("visited", "bb"), Known("visited", "")
FAILED, QUEUED, CLAIMED = Known("failed", ""), Known("queued", None), Known("in_progress", None)


@pytest.mark.parametrize(
    ("first", "second", "by_urls", "by_states", "by_content"),
    [
        (VISITED, VISITED, None, None, None),
        (VISITED, None, Change.GONE, Change.GONE, Change.GONE),
        (None, VISITED, Change.ADDED, Change.ADDED, Change.ADDED),
        (VISITED, FAILED, None, Change.STATE, Change.STATE),
        (VISITED, OTHER_BODY, None, None, Change.CONTENT),
        (VISITED, NO_BODY, None, None, None),
        (NO_BODY, VISITED, None, None, None),
        (QUEUED, CLAIMED, None, None, None),
        (QUEUED, VISITED, None, Change.STATE, Change.STATE),
    ],
)
def test_a_change(
    first: Known | None, second: Known | None, by_urls: Change, by_states: Change, by_content: Change
) -> None:
    assert [change_of(first, second, by) for by in By] == [by_urls, by_states, by_content]


@pytest.mark.requirement("T-04")
def test_a_url_counts_once_however_often_it_comes() -> None:
    first = [ExportedUrl("http://a.test/a", "visited", "aa"), ExportedUrl("http://a.test/b", "visited", "")] * 2
    second = [ExportedUrl("http://a.test/a", "failed", ""), ExportedUrl("http://a.test/c", "visited", "")] * 2
    counts = Counter[str]()
    found = [(change, url) for change, url, *_ in differences(first, second, By.CONTENT, counts)]
    assert found == [("state", "http://a.test/a"), ("added", "http://a.test/c"), ("gone", "http://a.test/b")]
    assert counts == {Change.STATE: 1, Change.ADDED: 1, Change.GONE: 1}
    counts.clear()
    assert len(list(differences(first, second, By.URLS, counts))) == 2
    assert counts[SAME] == 1
