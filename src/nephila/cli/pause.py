"""`nephila pause`: pause a crawl that other processes work on."""

from nephila.cli.options import DATA, OpenCrawlArgument, open_store, with_settings
from nephila.cli.output import print_lines
from nephila.cli.running import look, unfinished_lines
from nephila.control import crawls
from nephila.models import CrawlState
from nephila.settings import ProcessSettings

BY_COMMAND = "by a command"


@with_settings(*DATA)
def pause(crawl: OpenCrawlArgument = None, *, settings: ProcessSettings) -> None:
    """Pause a crawl that runs elsewhere: a `crawl` in another terminal ends, a `serve` lets it rest.

    Returns when no worker will start another request of it. `nephila resume` goes on.
    """
    opened = open_store(settings)
    found = crawls.only(opened.catalog, CrawlState.RUNNING) if crawl is None else opened.catalog.crawl(crawl)
    crawls.check_pausable(found)
    if found.state is not CrawlState.PAUSED:  # else the reason of the first pause stays
        crawls.pause(opened.catalog, found.id, BY_COMMAND)
    print_lines(unfinished_lines(look(opened, found), settings, left=False))
