"""`nephila cancel`: end a crawl for good."""

import typer

from nephila.cli import running, words
from nephila.cli.options import ARCHIVE, DATA, OpenCrawlArgument, with_settings
from nephila.cli.output import EXIT_INTERRUPTED, print_lines
from nephila.control import crawls
from nephila.control.progress import Snapshot
from nephila.models import CrawlState, UrlState
from nephila.settings import ProcessSettings

OPEN_STATES = (CrawlState.RUNNING, CrawlState.PAUSED, CrawlState.ENDING)


@with_settings(*DATA, ARCHIVE)
def cancel(crawl: OpenCrawlArgument = None, *, settings: ProcessSettings) -> None:
    """End a crawl for good: its open URLs end `cancelled`; pages that it has had stay.

    The workers that crawl end the URLs. Where there are none, this command starts one for it and waits.
    """
    settings = running.quieter(settings).model_copy(update={"workers": 1})
    opened = running.open_for_work(settings, create=False)
    catalog = opened.catalog
    found = crawls.only(catalog, *OPEN_STATES) if crawl is None else catalog.crawl(crawl)
    crawls.check_cancellable(found)
    crawls.interrupt_others(catalog, found)
    crawls.cancel(catalog, found.id)
    alone = crawls.is_left_alone(catalog)
    last = (
        running.end_crawl(settings, opened, crawls.go_on(catalog, found.id)) if alone else running.look(opened, found)
    )
    print_lines([cancelled_line(last)])
    if alone and not last.crawl.state.over:
        raise typer.Exit(EXIT_INTERRUPTED)


def cancelled_line(last: Snapshot) -> str:
    number, still_open = last.crawl.id, words.count(last.known - last.ended)
    if last.crawl.state.over:
        cancelled = last.counts.get(UrlState.CANCELLED, 0)
        before = words.count(last.ended - cancelled)
        return (
            f"crawl {number} is {last.crawl.state}: {words.count(cancelled)} URLs were open, {before} had ended before"
        )
    if last.workers:
        return f"crawl {number} is being cancelled: its workers send no further request and end {still_open} open URLs"
    return f"crawl {number} is being cancelled: the next worker ends its {still_open} open URLs"
