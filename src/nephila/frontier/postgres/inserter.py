"""New URLs into the frontier: one multi-row insert that ignores what is known, over all crawls of a flush."""

from collections import Counter
from collections.abc import Iterable, Sequence

from nephila.frontier.columns import storable
from nephila.frontier.postgres.arrays import Blobs, Ints, Texts
from nephila.frontier.postgres.connection import Cursor
from nephila.frontier.remembered import Remembered
from nephila.frontier.statements import statements
from nephila.models import Child, Refusal
from nephila.urls.identity import partition_of

SQL = statements("postgres", "worker")

Refusals = Counter[tuple[int, str, str]]
Place = tuple[int, str]  # crawl, host


class Inserter(Remembered):
    def insert(
        self,
        cursor: Cursor,
        crawl: int,
        children: Sequence[Child],
        owned: Sequence[int],
        now: int,
        refusals: Refusals,
    ) -> int:
        """Children of one crawl: how many were new."""
        return self.insert_all(cursor, children, owned, now, refusals)[crawl]

    def insert_all(
        self, cursor: Cursor, children: Sequence[Child], owned: Sequence[int], now: int, refusals: Refusals
    ) -> Counter[int]:
        """How many of each crawl were new. Their queues are due afterwards, or their owners will hear of them."""
        if not children:
            return Counter()
        created = self._create_queues(cursor, children, now)
        left = self._lock_limited(cursor, {child.crawl for child in children})
        wanted, refused = self._within(cursor, children, left, refusals) if left else (children, Counter[int]())
        inserted = self._insert(cursor, wanted, owned, created, now)
        if left:
            crawls = sorted(left)
            counts = Ints(inserted[crawl] for crawl in crawls), Ints(refused[crawl] for crawl in crawls)
            cursor.execute(SQL["grant_urls"], (Ints(crawls), *counts))
        return inserted

    def find_queues(self, cursor: Cursor, places: Iterable[Place]) -> list[Place]:
        """Learn the ids of these queues; answers the places that have none."""
        self._make_room()
        missing = [place for place in places if place[1] not in self.ids(place[0])]
        if missing:
            crawls, hosts = Ints(crawl for crawl, _ in missing), Texts(host for _, host in missing)
            self._learn(cursor.execute(SQL["find_queues"], (crawls, hosts)).fetchall())
        return [place for place in missing if place[1] not in self.ids(place[0])]

    def _create_queues(self, cursor: Cursor, children: Sequence[Child], now: int) -> list[int]:
        """The queues that this transaction made. Another session may make one at the same time: then it is found."""
        new = self.find_queues(cursor, {(child.crawl, child.host) for child in children})
        if not new:
            return []
        crawls, hosts = Ints(crawl for crawl, _ in new), Texts(host for _, host in new)
        parts = Ints(partition_of(host) for _, host in new)
        made = cursor.execute(SQL["insert_queues"], (now, crawls, hosts, parts)).fetchall()
        self._learn(made)
        if len(made) < len(new):
            self.find_queues(cursor, new)
        return [queue for _, _, queue in made]

    def _insert(
        self, cursor: Cursor, children: Sequence[Child], owned: Sequence[int], created: list[int], now: int
    ) -> Counter[int]:
        ids = self._ids
        # A column at a time: half the time of building a row for each and turning them.
        values = {
            "queue": Ints([ids[c.crawl][c.host] for c in children]),
            "parent": Ints([c.parent for c in children]),
            "crawl": Ints([c.crawl for c in children]),
            "depth": Ints([c.depth for c in children]),
            "prio": Ints([c.priority for c in children]),
            "kind": Ints([c.kind for c in children]),
            "hops": Ints([c.hops for c in children]),
            "key": Blobs([c.key for c in children]),
            "url": Texts([c.url for c in children]),
            "raw": Texts([storable(c.raw) for c in children]),
            "owned": Ints(owned),
            "created": Ints(created),
            "now": now,
        }
        return Counter(dict(cursor.execute(SQL["insert_urls"], values).fetchall()))

    # --- max_urls

    def _lock_limited(self, cursor: Cursor, crawls: set[int]) -> dict[int, int]:
        """How many URLs each limited crawl may still have; locked until the transaction ends."""
        unknown = crawls.difference(self._limited)
        if unknown:
            self._limited.update(cursor.execute(SQL["limits"], (Ints(unknown),)).fetchall())
        limited = [crawl for crawl in crawls if self._limited.get(crawl)]
        if not limited:
            return {}
        return dict(cursor.execute(SQL["lock_limited"], (Ints(limited),)).fetchall())

    def _within(
        self, cursor: Cursor, children: Sequence[Child], left: dict[int, int], refusals: Refusals
    ) -> tuple[Sequence[Child], Counter[int]]:
        """The children that fit, and how many of each crawl do not. Only where a limit falls among them is it asked."""
        asked = Counter(child.crawl for child in children if child.crawl in left)
        short = {crawl: max(0, left[crawl]) for crawl, count in asked.items() if count > left[crawl]}
        if not short:
            return children, Counter()
        known = self._known_keys(cursor, [child for child in children if child.crawl in short])
        kept: list[Child] = []
        refused: Counter[int] = Counter()
        for child in children:
            room = short.get(child.crawl)
            if room is None or (child.crawl, child.key) in known:
                kept.append(child)
            elif room:
                kept.append(child)
                known.add((child.crawl, child.key))
                short[child.crawl] = room - 1
            else:
                refused[child.crawl] += 1
                refusals[child.crawl, child.host, Refusal.LIMIT] += 1
        return kept, refused

    def _known_keys(self, cursor: Cursor, children: list[Child]) -> set[tuple[int, bytes]]:
        queues = Ints(self._ids[child.crawl][child.host] for child in children)
        found = cursor.execute(SQL["known"], (queues, Blobs(child.key for child in children))).fetchall()
        return {(children[place - 1].crawl, children[place - 1].key) for (place,) in found}
