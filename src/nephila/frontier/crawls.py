"""Crawls as records: created, steered, listed and deleted. Seeds are inserted in each dialect's own way."""

import json
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.columns import storable
from nephila.frontier.records import CrawlHead
from nephila.frontier.rows import crawl_head, crawl_of, crawl_of_key
from nephila.frontier.session import ENTRY_URLS_MAX
from nephila.frontier.store import UNNAMED, Crawl, Naming
from nephila.frontier.tables import OverTables, TableWriter, Values, move_control
from nephila.models import KINDS_BY_CODE, STATE_CODES, Child, CrawlState, Kind, Reason, UrlState, reason_tally
from nephila.policy.ending import LIMIT_REASONS
from nephila.profiles import CrawlSettings
from nephila.urls.identity import hostname_of
from nephila.urls.scope import hosts_of_scope

CRAWLS_MAX = 100  # of one page
SEED_CHUNK = 1000
HEAD_SEEDS_CHARS = 1000  # of the seeds of a crawl, where it is one of many
NOBODY = 0  # the worker that counts what no session does: seeds, evicted URLs
ID_MAX = 2**31 - 1
PAGE_TALLIES = {"visited": UrlState.VISITED, "unaccepted": reason_tally(Reason.CONTENT_TYPE)}  # what max_pages counts


@dataclass(frozen=True, slots=True)
class CrawlCounts:
    by_state: Mapping[CrawlState, int]
    started: int  # since the time that was asked for
    completed: int


class Crawls(OverTables, ABC):
    @abstractmethod
    def _add_chunk(self, crawl_id: int, chunk: list[Child]) -> int:
        """Insert seeds and count them, in one transaction; answers how many were new."""

    def create_crawl(
        self,
        seeds: Sequence[str],
        settings: CrawlSettings,
        fingerprint: str,
        key: str = "",
        created_by: str = "",
        seed_sent: str = "",
        naming: Naming = UNNAMED,
    ) -> Crawl:
        """Make a crawl that is `seeding`. `created_by`: the name of a token, empty for a command; `seed_sent`: the
        first seed as it was sent.

        `key` names a request that may come twice: the second time, the crawl of the first is answered. UsageError where
        the key was given with another fingerprint before.
        """
        now = self.tables.now()
        allowed_hosts = hosts_of_scope(settings.scope, map(hostname_of, seeds))

        def work(tables: TableWriter) -> int:
            if key and not tables.change("take_request_key", key=key, fingerprint=fingerprint, now=now):
                known = tables.row("request_key", key=key)
                if known is None:
                    raise StoreUnavailable("the crawl of this Idempotency-Key is just being deleted: try again")
                return crawl_of_key(known, fingerprint)
            wanted = {"seeds": json.dumps(list(seeds)), "settings": settings.model_dump_json()}
            made = {"uuid": str(uuid.uuid4()), "fingerprint": fingerprint, "created_by": created_by, "now": now}
            made |= {"seed_sent": storable(seed_sent), "allowed_hosts": self.tables.texts(allowed_hosts)}
            made |= self._named(naming)
            crawl_id = int(tables.value("create_crawl", **wanted, **made))
            if key:
                tables.change("fill_request_key", key=key, crawl=crawl_id)
            move_control(tables)
            return crawl_id

        return self.crawl(self.tables.transact(work))

    def add_seeds(self, crawl_id: int, children: Iterable[Child]) -> int:
        """Insert seeds; answers how many were new. In chunks, so that no other writer waits for a long list."""
        added, rest = 0, iter(children)
        while chunk := list(islice(rest, SEED_CHUNK)):
            self._forgive(sorted({child.host for child in chunk}))
            added += self._add_chunk(crawl_id, chunk)
        return added

    def _forgive(self, hosts: list[str]) -> None:
        """Forget that these hosts could not be reached: whoever asks for a site again wants it to be tried again."""
        names, now = self.tables.texts(hosts), self.tables.now()
        if self.tables.value("has_unreached", hosts=names):
            self.tables.change("end_unreached_rests", hosts=names, now=now)
            self.tables.change("forget_unreached", hosts=names)

    def set_naming(self, crawl_id: int, naming: Naming) -> None:
        """Call a crawl so from now on. Workers need not hear of it."""
        self.tables.change("set_naming", crawl=crawl_id, **self._named(naming))

    def _named(self, naming: Naming) -> dict[str, Any]:
        return {"name": naming.name, "labels": self.tables.texts(naming.labels)}

    def seeded(self, crawl_id: int) -> None:
        """End the seeding: from now on the crawl is over when no URL is open."""
        self.tables.change("seeded", crawl=crawl_id)

    # --- looking

    def crawl(self, crawl_id: int) -> Crawl:
        """UsageError where there is none."""
        row = self.tables.row("crawl", crawl=crawl_id)
        if row is None:
            raise UsageError(f"there is no crawl {crawl_id}: `nephila status` lists them")
        return crawl_of(row, self.tables.now())

    def crawl_by_uuid(self, uuid: str) -> Crawl | None:
        row = self.tables.row("crawl_by_uuid", uuid=uuid)
        return crawl_of(row, self.tables.now()) if row else None

    def crawls(self, before: int = 0, limit: int = CRAWLS_MAX) -> list[Crawl]:
        """A keyset page, the newest first: crawls with ids below `before`, where 0 means from the newest on."""
        return self._crawls(self.tables.rows("crawls", before=before or ID_MAX, limit=limit))

    def crawl_heads(self, before: int = 0, limit: int = CRAWLS_MAX) -> list[CrawlHead]:
        """As `Crawls.crawls`, but of each only what a list is filtered and sorted by."""
        now, place = self.tables.now(), before or ID_MAX
        rows = self.tables.rows("crawl_heads", before=place, limit=limit, chars=HEAD_SEEDS_CHARS)
        return [crawl_head(row, now) for row in rows]

    def tallies_of_crawls(self, crawls: Iterable[int], names: Iterable[str]) -> dict[int, dict[str, int]]:
        """The tallies of these names, by crawl."""
        asked = {"crawls": self.tables.ints(crawls), "names": self.tables.texts(names)}
        found: dict[int, dict[str, int]] = {}
        for crawl_id, name, n in self.tables.rows("tallies_of_crawls", **asked):
            found.setdefault(crawl_id, {})[name] = int(n)
        return found

    def open_crawls(self) -> list[Crawl]:
        """Crawls that are not over, the oldest first."""
        return self._crawls(self.tables.rows("open_crawls"))

    def _crawls(self, rows: list[Values]) -> list[Crawl]:
        now = self.tables.now()
        return [crawl_of(row, now) for row in rows]

    def crawl_uuids(self) -> dict[int, str]:
        """The uuids of all crawls by id, without reading their settings."""
        return dict(self.tables.rows("crawl_uuids"))

    def count_crawls(self, since: int = 0) -> CrawlCounts:
        """All crawls by state, and how many of them were started and completed since a time (ms since 1970)."""
        by_state: Counter[CrawlState] = Counter()
        started = completed = 0
        for state, count, begun, ended in self.tables.rows("count_crawls", since=since):
            by_state[CrawlState(state)] = count
            started += begun
            completed += ended if state == CrawlState.COMPLETED else 0
        return CrawlCounts(by_state, started, completed)

    def unfinished(self, fingerprint: str) -> Crawl | None:
        """The latest crawl with this fingerprint that is not over."""
        crawl_id = self.tables.value("unfinished", fingerprint=fingerprint)
        return self.crawl(crawl_id) if crawl_id is not None else None

    def unfinished_of(self, created_by: str) -> int:
        """How many crawls of this token are not over."""
        return int(self.tables.value("unfinished_of", created_by=created_by))

    # --- steering

    def steer(self, crawl_id: int, state: CrawlState, reason: str = "") -> int:
        """Ask for a state; answers the control version that every living session must have seen.

        Time in which no worker lived, because all were killed, does not count as active.
        """
        return self.tables.transact(partial(self._steer, crawl_id, state, reason))

    def _steer(self, crawl_id: int, state: CrawlState, reason: str, tables: TableWriter) -> int:
        now = self.tables.now()
        alive = any(self.tables.session_alive(session) for (session,) in tables.rows("living_sessions", now=now))
        until = now if alive else tables.value("last_seen")
        if state is CrawlState.RUNNING:
            tables.change("unpark", crawl=crawl_id)
        tables.change("steer", crawl=crawl_id, state=state, reason=reason, now=now, alive=alive, until=until)
        return move_control(tables)

    def acknowledged(self, version: int) -> bool:
        """Whether every living session has seen this control version."""
        lagging = self.tables.rows("lagging", now=self.tables.now(), version=version)
        return not any(self.tables.session_alive(session) for (session,) in lagging)

    def change_settings(self, crawl_id: int, settings: CrawlSettings) -> int:
        """Change pace and limits of a crawl that is not over; answers the control version.

        Workers follow with their next flush. Pages that are in flight when max_pages is lowered below them are still
        brought. max_urls and max_frontier may be raised or lowered, but neither set nor removed: sessions remember that
        there is none.
        """
        return self.tables.transact(partial(change_settings, crawl_id, settings))

    # --- going on after a limit

    def reopen(self, crawl_id: int, settings: CrawlSettings) -> bool:
        """Let a crawl that one of its limits has ended run again with these settings; false where it is no such crawl.

        It is `seeding` until `open_again` and `seeded` were called: a crash in between leaves a running crawl that
        cannot be over, and whoever resumes it goes on.
        """
        return self.tables.transact(partial(self._reopen, crawl_id, settings))

    def _reopen(self, crawl_id: int, settings: CrawlSettings, tables: TableWriter) -> bool:
        changed = {"settings": settings.model_dump_json(), "now": self.tables.now(), **PAGE_TALLIES}
        reopened = tables.change("reopen_crawl", crawl=crawl_id, reasons=self.tables.texts(LIMIT_REASONS), **changed)
        if reopened:
            move_control(tables)
        return bool(reopened)

    def open_again(self, crawl_id: int) -> None:
        """Open the URLs that a limit has ended, a chunk at a time, unless the crawl is ending again. They are looked
        for without a lock."""
        ended = {"crawl": crawl_id, "state": STATE_CODES[UrlState.EXCLUDED]}
        ended |= {"reasons": self.tables.texts(LIMIT_REASONS)}
        found: dict[int, str]
        after = 0
        while found := dict(self.tables.rows("ended_for", **ended, after=after, limit=ENTRY_URLS_MAX)):
            if not self.tables.transact(partial(self._open_chunk, ended, found)):
                return
            after = max(found)

    def _open_chunk(self, ended: Mapping[str, Any], found: Mapping[int, str], tables: TableWriter) -> bool:
        """False: the crawl is ending again. Of the URLs that were found only those are counted that this opens."""
        crawl = ended["crawl"]
        tables.rows("evicting")
        if tables.row("reopening", crawl=crawl) is None:
            return False
        tables.rows("forget_ends", **ended, urls=self.tables.ints(found))
        opened = tables.rows("open_again", **ended, urls=self.tables.ints(found), now=self.tables.now())
        if opened:
            tables.change("note_opened", crawl=crawl, urls=self.tables.ints(url for url, _ in opened))
            tables.change("tell_owners", queues=self.tables.ints(sorted({queue for _, queue in opened})))
            kinds: dict[int, int] = dict(tables.rows("kinds_among", ids=self.tables.ints(url for url, _ in opened)))
            counts: Counter[str] = Counter()
            for url, _ in opened:
                prefix = KINDS_BY_CODE[kinds.get(url, Kind.PAGE)].traits.tally_prefix
                counts[prefix + UrlState.EXCLUDED] += 1
                counts[prefix + reason_tally(found[url])] += 1
            for name, n in sorted(counts.items()):
                tables.change("tally_more", crawl=crawl, worker=NOBODY, name=name, n=-n)
        return True

    # --- who looks after it

    def look_after(self, crawl_id: int) -> None:
        """This process looks after the crawl as long as it lives: nobody else takes it for interrupted."""
        self.tables.hold_session(f"crawl-{crawl_id}")

    def is_looked_after(self, crawl_id: int) -> bool:
        """Whether a living process looks after the crawl. Always true of a cluster: a crawl without workers waits for
        some to come, it is not interrupted."""
        return self.tables.session_alive(f"crawl-{crawl_id}")

    def mark_suspect(self, url_id: int) -> None:
        """Count a crash: a worker died while it parsed this URL. The next worker to get the URL hears of it."""
        self.tables.change("mark_suspect", url=url_id)

    def delete(self, crawl_id: int) -> list[str]:
        """Mark as deleted; answers the archive files that no other crawl's rows name."""
        self.crawl(crawl_id)
        self.tables.transact(partial(_mark_deleted, crawl_id))
        with self.tables.snapshot() as reader:
            return [name for (name,) in reader.rows("files_of_crawl", crawl=crawl_id)]


def change_settings(crawl_id: int, settings: CrawlSettings, tables: TableWriter) -> int:
    if settings.limits.max_pages is not None:
        tables.rows("wait_for_flushes")  # so that the count misses no page that is being brought
    tables.change("set_settings", crawl=crawl_id, settings=settings.model_dump_json(), **PAGE_TALLIES)
    return move_control(tables)


def _mark_deleted(crawl_id: int, tables: TableWriter) -> None:
    tables.change("drop_request_keys", crawl=crawl_id)
    tables.change("mark_deleted", crawl=crawl_id)
    move_control(tables)
