"""What a session remembers of the store while it inserts: the ids of queues, and which crawls are limited."""

from collections.abc import Iterable

QUEUE_IDS_MAX = 200_000  # (crawl, host) -> queue id: only saves look-ups


class Remembered:
    """`forget` after a transaction that was rolled back: its ids never existed."""

    def __init__(self) -> None:
        self._ids: dict[int, dict[str, int]] = {}  # crawl -> host -> queue
        self._known = 0  # hosts in _ids
        self._limited: dict[int, bool] = {}  # crawl -> has max_urls, which never changes

    def forget(self) -> None:
        self._ids.clear()
        self._known = 0
        self._limited.clear()

    def ids(self, crawl: int) -> dict[str, int]:
        return self._ids.setdefault(crawl, {})

    def _make_room(self) -> None:
        if self._known > QUEUE_IDS_MAX:
            self.forget()

    def _learn(self, found: Iterable[tuple[int, str, int]]) -> None:
        for crawl, host, queue in found:
            self.ids(crawl)[host] = queue
            self._known += 1
