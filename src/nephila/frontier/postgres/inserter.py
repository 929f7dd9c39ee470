"""Puts new URLs into the frontier: one multi-row insert for all crawls of a flush, which ignores known URLs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from nephila.frontier.columns import URLS, URLS_OF_LINK, URLS_OF_PAGE, storable
from nephila.frontier.postgres.arrays import Blobs, Ints, Texts, array_types, arrays
from nephila.frontier.postgres.connection import Cursor
from nephila.frontier.rows import open_of
from nephila.frontier.session import Added, Counts, QueueMemory, Vacancies, counted_apart, within, without_linked
from nephila.frontier.statements import statements
from nephila.models import Child, Kind
from nephila.urls.identity import partition_of, url_key

SQL = statements("postgres", "worker")
CATALOG_SQL = statements("postgres", "catalog")

COLUMNS = [column.name for column in URLS]  # in the order of Child
OF_LINK = dict(zip((column.name for column in URLS_OF_LINK), array_types(URLS_OF_LINK), strict=True))
OF_PAGE = dict(zip((column.name for column in URLS_OF_PAGE), array_types(URLS_OF_PAGE), strict=True))

Place = tuple[int, str]  # crawl, host
ByKind = dict[tuple[int, int], int]  # kind, depth -> URLs
place_of = itemgetter(0, 1)  # of a child


class PostgresInserter(QueueMemory):
    def insert(
        self, cursor: Cursor, children: Sequence[Child], owned: Sequence[int], now: int, counts: Counts
    ) -> dict[int, Added]:
        """Insert children; answers what was new in each crawl.

        Queues in `owned` partitions that got rows are due afterwards; an arrival tells the owners of the others.
        """
        if not children:
            return {}
        created = self._create_queues(cursor, children, now)
        rooms = self._lock_limited(cursor, {child.crawl for child in children}, counts)
        wanted = self._within(cursor, children, rooms, counts) if rooms else children
        wanted = without_linked(wanted, partial(self._pages_of, cursor))
        if len(wanted) < len(children):
            self._remove_empty(cursor, created, wanted)
        inserted = self._insert(cursor, wanted, owned, list(created.values()), now)
        granted = {crawl: room for crawl, room in rooms.items() if room.urls is not None or room.limited_by}
        if granted:
            values = [(crawl, sum(inserted[crawl].values()), room.limited_by) for crawl, room in granted.items()]
            cursor.execute(SQL["grant_urls"], arrays((Ints, Ints, Texts), values))
        hosts = Counter(crawl for crawl, _ in created)
        return {crawl: self._added(crawl, hosts[crawl], found) for crawl, found in inserted.items()}

    def _added(self, crawl: int, hosts: int, found: ByKind) -> Added:
        depths = {depth: n for (kind, depth), n in found.items() if kind == Kind.PAGE}
        apart = counted_apart((kind, n) for (kind, _), n in found.items())
        urls = sum(found.values()) - sum(apart.values())
        return Added(urls, hosts, depths, self._deeper(crawl, depths), apart)

    def find_queues(self, cursor: Cursor, wanted: Mapping[int, set[str]]) -> list[Place]:
        """Learn the ids of the queues of these hosts of each crawl; answers the places that have none."""
        self._make_room()
        missing = [(crawl, host) for crawl, hosts in wanted.items() for host in hosts.difference(self.ids(crawl))]
        if missing:
            crawls, hosts = Ints(crawl for crawl, _ in missing), Texts(host for _, host in missing)
            self._learn(cursor.execute(SQL["find_queues"], (crawls, hosts)).fetchall())
        return [place for place in missing if place[1] not in self.ids(place[0])]

    def _create_queues(self, cursor: Cursor, children: Sequence[Child], now: int) -> dict[Place, int]:
        """Create missing queues; answers those that are new. One that another session makes meanwhile is found."""
        new = self.find_queues(cursor, hosts_of(children))
        if not new:
            return {}
        crawls, hosts = Ints(crawl for crawl, _ in new), Texts(host for _, host in new)
        parts = Ints(partition_of(host) for _, host in new)
        made = cursor.execute(SQL["insert_queues"], (now, crawls, hosts, parts)).fetchall()
        self._learn(made)
        if len(made) < len(new):
            self.find_queues(cursor, by_crawl(new))
        return {(crawl, host): queue for crawl, host, queue in made}

    def _remove_empty(self, cursor: Cursor, created: dict[Place, int], children: Sequence[Child]) -> None:
        """Remove new queues that a limit lets none of the children into."""
        empty = created.keys() - set(map(place_of, children))
        if empty:
            cursor.execute(SQL["remove_empty"], (Ints(created.pop(place) for place in empty),))
        for crawl, host in empty:
            del self.ids(crawl)[host]

    def _insert(
        self, cursor: Cursor, children: Sequence[Child], owned: Sequence[int], created: list[int], now: int
    ) -> defaultdict[int, ByKind]:
        """How many URLs of each kind were new in each crawl at each depth."""
        inserted: defaultdict[int, ByKind] = defaultdict(dict)
        if not children:
            return inserted
        ids = self._ids
        # Turned at once: a look at each child for each column costs four times as much, most of it memory.
        turned: dict[str, Iterable[Any]] = dict(zip(COLUMNS, zip(*children, strict=True), strict=True))
        commons = list(zip(*(turned[name] for name in OF_PAGE), strict=True))
        pages = {common: number for number, common in enumerate(dict.fromkeys(commons), 1)}  # arrays begin at 1
        turned["queue"] = [ids[crawl][host] for crawl, host in zip(turned["crawl"], turned["queue"], strict=True)]
        turned["raw"] = map(storable, turned["raw"])
        values: dict[str, Any] = {"owned": Ints(owned), "created": Ints(created), "now": now}
        values |= {"page": Ints(map(pages.__getitem__, commons))}
        values |= {name: array(turned[name]) for name, array in OF_LINK.items()}
        values |= zip(OF_PAGE, arrays(tuple(OF_PAGE.values()), list(pages)), strict=True)
        for crawl, kind, depth, n in cursor.execute(SQL["insert_urls"], values).fetchall():
            inserted[crawl][kind, depth] = n
        return inserted

    # --- max_urls, max_frontier

    def _lock_limited(self, cursor: Cursor, crawls: set[int], counts: Counts) -> dict[int, Vacancies]:
        """What the limits of each limited crawl leave; its row stays locked until the transaction ends."""
        unknown = crawls.difference(self._limited)
        if unknown:
            self._limited.update(cursor.execute(SQL["limits"], (Ints(unknown),)).fetchall())
        limited = [crawl for crawl in crawls if self._limited.get(crawl)]
        if not limited:
            return {}
        found = cursor.execute(SQL["lock_limited"], (Ints(limited),)).fetchall()
        return {
            crawl: Vacancies(urls, self._open_left(cursor, crawl, open_max, counts)) for crawl, urls, open_max in found
        }

    def _open_left(self, cursor: Cursor, crawl: int, open_max: int | None, counts: Counts) -> int | None:
        """How many more may be open. A statement of its own: that of the lock may have waited, and does not see what
        was committed meanwhile. Who only ends rows takes no lock, so there may be more room, never less."""
        if open_max is None:
            return None
        stored = dict(cursor.execute(CATALOG_SQL["tallies"], {"crawl": crawl}).fetchall())
        return open_max - open_of(stored) + counts.ended(crawl)

    def _within(
        self, cursor: Cursor, children: Sequence[Child], rooms: dict[int, Vacancies], counts: Counts
    ) -> Sequence[Child]:
        """The children that the limits let in. Known URLs are looked up only where a crawl meets one among these."""
        asked = Counter(child.crawl for child in children if child.crawl in rooms)
        short = {crawl: rooms[crawl] for crawl, count in asked.items() if not rooms[crawl].fits(count)}
        if not short:
            return children
        known = self._known_keys(cursor, [child for child in children if child.crawl in short])
        return within(children, short, known, counts)

    def _pages_of(self, cursor: Cursor, requisites: list[Child]) -> list[bytes]:
        keys = [url_key(child.url) for child in requisites]
        queues = Ints(self._ids[child.crawl][child.host] for child in requisites)
        return [keys[place - 1] for (place,) in cursor.execute(SQL["known"], (queues, Blobs(keys))).fetchall()]

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
