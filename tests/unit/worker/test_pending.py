"""What visits bring, gathered for a flush."""

import hashlib

import pytest

from nephila.archive.archive import Exchange
from nephila.errors import ArchiveFileGone
from nephila.frontier.store import (
    ERRORS_PER_FLUSH,
    Batch,
    Flushed,
    Outcome,
    Release,
    Retry,
    RobotsRecord,
    Row,
)
from nephila.models import ArchivePlace, Child, Kind, PageRecord, Reason, Refusal, Tally, UrlState
from nephila.policy.politeness import Pace
from nephila.urls.admission import Example
from nephila.worker.pending import Cut, Pending, archive, clock_of, learn_keys
from nephila.worker.scheduler import Host, Queue
from nephila.worker.visit import Ending, Visit
from tests.unit.worker.test_scheduler import live_crawl
from tests.unit.worker.test_visit import link

ROW = Row(7, "https://a.test/x", 1, Kind.PAGE, 0, 2, 0, None)


def queue(host: Host | None = None, **settings: object) -> Queue:
    crawl = live_crawl(**settings)
    found = Queue(5, crawl, host or Host("a.test", 0, 0.0, Pace(), 0, ""), 0)
    found.host.add(found)
    return found


def ending(state: UrlState, reason: str = "", page: PageRecord | None = None, url_id: int = 7) -> Ending:
    return Ending(Outcome(url_id, 1, state, reason, 3, page))


def test_endings_retries_and_tallies() -> None:
    pending, held = Pending(), queue()
    pending.add(held, ROW, Visit(ending(UrlState.VISITED), refusals={("b.test", Refusal.SCOPE, ""): 2}))
    pending.add(held, ROW, Visit(ending(UrlState.EXCLUDED, Reason.ROBOTS)))
    pending.add(held, ROW, Visit(retry=Retry(8, 1, 1000, 3, 0, Reason.TIMEOUT)))
    assert len(pending) == 3 and pending.url_ids() == {7, 8}
    assert pending.tallies == {(1, Tally.RETRIES): 1}, "what has ended is counted by the store, if it had a permit"
    assert pending.refusals == {(1, "b.test", Refusal.SCOPE): 2}


def test_refused_links_are_counted_by_rule_and_the_first_of_each_kind_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephila.worker.pending.EXAMPLED_MAX", 2)
    pending, held = Pending(), queue()
    odd = [Example("", Refusal.SCHEME, "", "x\0y"), Example("", Refusal.SCHEME, "", "mailto:x")]
    pending.add(held, ROW, Visit(examples=odd))
    for number in (1, 1, 2, 3, 4):
        visit = Visit(refusals={("b.test", Refusal.EXCLUDE, "matches x"): 5})
        visit.examples = [Example("b.test", Refusal.EXCLUDE, "matches x", f"https://b.test/{number}")]
        visit.examples += [Example("c.test", Refusal.SCOPE, "", "https://c.test/")]  # of a third kind
        pending.add(held, ROW, visit)
    assert pending.rules == {(1, Refusal.EXCLUDE, "matches x"): 25}
    kept = pending.refused_links
    assert [link.url for link in kept[1:]] == [f"https://b.test/{number}" for number in (1, 2, 3)]
    assert kept[1] == (1, "exclude", "matches x", "b.test", "https://b.test/1", 7)
    assert (kept[0].reason, kept[0].url) == ("scheme", "mailto:x"), "what cannot be shown is no example"
    cut = pending.cut(Batch(1), [], [], 0.0)
    assert (cut.batch.refused_rules, cut.batch.refused_links) == (dict(pending.rules), kept)
    later = Pending()
    later.add(held, ROW, Visit(examples=[Example("b.test", Refusal.EXCLUDE, "matches x", "https://b.test/9")]))
    assert later.refused_links == [], "a session stores so many and no more"


def test_what_went_wrong_is_noted_up_to_a_number() -> None:
    pending, held = Pending(), queue()
    pending.add(held, ROW, Visit(ending(UrlState.NOT_FOUND)))  # its state says it all
    pending.add(held, ROW, Visit(ending(UrlState.HTTP_ERROR, Reason.HTTP_5XX, PageRecord(status=503))))
    pending.add(held, ROW, Visit(ending(UrlState.FAILED, Reason.TLS, PageRecord(error="expired"))))
    pending.add(held, ROW, Visit(retry=Retry(7, 1, 1000, 3, 0, Reason.TIMEOUT), error="no answer within 5 s"))
    assert [(note.reason, note.detail, note.tries) for note in pending.errors] == [
        (Reason.HTTP_5XX, "status 503", 2),
        (Reason.TLS, "expired", 2),
        (Reason.TIMEOUT, "no answer within 5 s", 2),
    ]
    for _ in range(ERRORS_PER_FLUSH):
        pending.add(held, ROW, Visit(ending(UrlState.FAILED, Reason.TLS, PageRecord())))
    assert len(pending.errors) == ERRORS_PER_FLUSH


def test_a_robots_txt_without_a_row() -> None:
    pending = Pending()
    record = RobotsRecord("https://a.test", "a.test", "allow_all", 404, b"", 1)
    pending.add(queue(), None, Visit(robots=record, joined="c.test"))
    assert pending.robots == {"https://a.test": record} and pending.joined == [(1, "c.test")]
    assert len(pending) == 0


def test_a_cut_has_everything() -> None:
    pending, held = Pending(), queue()
    pending.add(held, ROW, Visit(ending(UrlState.VISITED)))
    pending.add(held, ROW, Visit(retry=Retry(8, 1, 1000, 3, 0, Reason.TIMEOUT)))
    pending.deaths[5] = Reason.HOST_DEAD
    cut = pending.cut(Batch(1), [held.host], [(held, Release(5, 0, 1))], 0.0)
    assert [outcome.url_id for outcome in cut.batch.outcomes] == [7]
    assert cut.retried == [(held, 8)] and cut.released == [held]
    assert cut.batch.deaths == [(5, Reason.HOST_DEAD)]
    assert [clock.host for clock in cut.batch.clocks] == ["a.test"]


def test_a_request_in_flight_counts_as_one_that_ends_now() -> None:
    host = Host("a.test", 0, 100.0, Pace(), 3, "")
    queue(host, polite__floor_ms=2000)
    assert clock_of(host, 100.0, ("", "")).next_in_ms == 1
    host.in_flight = 1
    clock = clock_of(host, 100.0, ("192.0.2.1", "b.test"))
    assert (clock.next_in_ms, clock.delay_ms, clock.addresses, clock.cnames) == (2001, 2000, "192.0.2.1", "b.test")


class Written:
    """An ArchiveWriter that counts."""

    def __init__(self) -> None:
        self.files = {"a.warc.gz": 10}
        self.appended: list[Exchange] = []
        self.synced = 0

    def append(self, exchange: Exchange) -> ArchivePlace:
        self.appended.append(exchange)
        return ArchivePlace("a.warc.gz", len(self.appended), 5)

    def sync(self) -> None:
        self.synced += 1

    def committed(self) -> None: ...
    def discard(self) -> None: ...
    def close(self) -> None: ...


def exchange(body: bytes = b"body", head: bytes = b"") -> Exchange:
    return Exchange("https://a.test/x", 0, None, "http/1.1", b"", head, body)


def test_archived_once_and_hashed_as_decoded() -> None:
    pages = [PageRecord(), PageRecord(), PageRecord()]
    endings = [Ending(Outcome(n, 1, UrlState.VISITED, "", 1, page), exchange()) for n, page in enumerate(pages)]
    endings[1].content = b"decoded"
    endings[2].exchange = None
    cut, writer = Cut(Batch(1), [(queue(), each) for each in endings], [], []), Written()
    archive(cut, writer)
    archive(cut, writer)  # the flush is repeated
    assert (len(writer.appended), writer.synced) == (2, 1)
    assert cut.batch.archive_files == [("a.warc.gz", 10)]
    assert [page.archive.offset if page.archive else None for page in pages] == [1, 2, None]
    assert pages[0].content_hash != pages[1].content_hash and pages[2].content_hash is None
    assert [each.hashed for each in writer.appended] == [
        (b"body", pages[0].content_hash),
        (b"decoded", pages[1].content_hash),
    ]


def test_the_hash_of_an_answer_that_nobody_decodes_does_not_depend_on_its_chunks() -> None:
    head = b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
    wires = [b"4\r\nbody\r\n0\r\n\r\n", b"2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n", b"broken"]
    pages = [PageRecord() for _ in wires]
    endings = [
        Ending(Outcome(n, 1, UrlState.FAILED, "", 1, page), exchange(wire, head))
        for n, (page, wire) in enumerate(zip(pages, wires, strict=True))
    ]
    archive(Cut(Batch(1), [(queue(), each) for each in endings], [], []), Written())
    expected = [hashlib.sha256(content).digest() for content in (b"body", b"body", b"broken")]
    assert [page.content_hash for page in pages] == expected


def test_what_was_written_into_a_file_that_is_gone_is_written_again() -> None:
    class Gone(Written):
        def sync(self) -> None:
            super().sync()
            if self.synced == 1:
                raise ArchiveFileGone("somebody removed it")

    pages = [PageRecord(), PageRecord()]
    endings = [Ending(Outcome(n, 1, UrlState.VISITED, "", 1, page), exchange()) for n, page in enumerate(pages)]
    cut, writer = Cut(Batch(1), [(queue(), each) for each in endings], [], []), Gone()
    with pytest.raises(ArchiveFileGone):
        archive(cut, writer)
    archive(cut, writer)
    assert [page.archive.offset if page.archive else None for page in pages] == [3, 4]


def test_a_crawl_without_an_archive_has_hashes_only() -> None:
    page, held = PageRecord(), queue(content__store="none")
    writer = Written()
    archive(Cut(Batch(1), [(held, Ending(Outcome(1, 1, UrlState.VISITED, "", 1, page), exchange()))], [], []), writer)
    assert page.content_hash is not None and page.archive is None and writer.appended == []


def test_keys_are_known_after_the_commit() -> None:
    held, found = queue(), link("https://a.test/new")
    done = ending(UrlState.VISITED)
    done.outcome.children = [Child(1, "a.test", found.key, found.url, 1, 1, 7, None)]
    other = link("https://a.test/refused")
    done.outcome.children.append(Child(1, "a.test", other.key, other.url, 1, 1, 7, None))
    cut, crawls = Cut(Batch(1), [(held, done)], [], []), {1: held.crawl}
    learn_keys(cut, crawls, Flushed(repeated=True))
    assert held.crawl.known.missing([found, other]) == [found, other], "the answer was lost"
    learn_keys(cut, crawls, Flushed(crowded_out={(1, other.key), (2, b"of a crawl that is over")}))
    assert held.crawl.known.missing([found, other]) == [other], "what was refused may come again"
