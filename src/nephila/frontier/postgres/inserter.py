"""New URLs into the frontier: one multi-row insert that ignores what is known, over all crawls of a flush."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from nephila.frontier.columns import storable
from nephila.frontier.postgres.arrays import Blobs, Ints, Texts, columns
from nephila.frontier.postgres.connection import Cursor
from nephila.frontier.remembered import Remembered
from nephila.frontier.statements import statements
from nephila.models import Child, Refusal
from nephila.urls.identity import partition_of

SQL = statements("postgres", "worker")

Refusals = Counter[tuple[int, str, str]]
Place = tuple[int, str]  # crawl, host
place_of = itemgetter(0, 1)  # of a child


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

    def find_queues(self, cursor: Cursor, wanted: Mapping[int, set[str]]) -> list[Place]:
        """Learn the ids of the queues of these hosts, by crawl; answers the places that have none."""
        self._make_room()
        missing = [(crawl, host) for crawl, hosts in wanted.items() for host in hosts.difference(self.ids(crawl))]
        if missing:
            crawls, hosts = Ints(crawl for crawl, _ in missing), Texts(host for _, host in missing)
            self._learn(cursor.execute(SQL["find_queues"], (crawls, hosts)).fetchall())
        return [place for place in missing if place[1] not in self.ids(place[0])]

    def _create_queues(self, cursor: Cursor, children: Sequence[Child], now: int) -> list[int]:
        """The queues that this transaction made. Another session may make one at the same time: then it is found."""
        new = self.find_queues(cursor, hosts_of(children))
        if not new:
            return []
        crawls, hosts = Ints(crawl for crawl, _ in new), Texts(host for _, host in new)
        parts = Ints(partition_of(host) for _, host in new)
        made = cursor.execute(SQL["insert_queues"], (now, crawls, hosts, parts)).fetchall()
        self._learn(made)
        if len(made) < len(new):
            self.find_queues(cursor, by_crawl(new))
        return [queue for _, _, queue in made]

    def _insert(
        self, cursor: Cursor, children: Sequence[Child], owned: Sequence[int], created: list[int], now: int
    ) -> Counter[int]:
        if not children:
            return Counter()
        ids = self._ids
        # Turned at once: a look at each child for each column costs four times as much, most of it memory.
        crawls, hosts, keys, urls, depths, priorities, parents, raws, kinds, hops = zip(*children, strict=True)
        commons = list(zip(crawls, depths, priorities, parents, kinds, hops, strict=True))  # of all links of a page
        pages = {common: number for number, common in enumerate(dict.fromkeys(commons), 1)}  # arrays begin at 1
        of_page = columns((Ints,) * 6, list(pages))
        values = {
            **dict(zip(("crawl", "depth", "prio", "parent", "kind", "hops"), of_page, strict=True)),
            "queue": Ints([ids[crawl][host] for crawl, host in zip(crawls, hosts, strict=True)]),
            "page": Ints(map(pages.__getitem__, commons)),
            "key": Blobs(keys),
            "url": Texts(urls),
            "raw": Texts(map(storable, raws)),
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


def hosts_of(children: Iterable[Child]) -> dict[int, set[str]]:
    return by_crawl(set(map(place_of, children)))


def by_crawl(places: Iterable[Place]) -> dict[int, set[str]]:
    hosts: dict[int, set[str]] = {}
    for crawl, host in places:
        hosts.setdefault(crawl, set()).add(host)
    return hosts
