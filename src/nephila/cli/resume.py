"""`nephila resume`: go on with what was interrupted, or with what a limit has ended."""

import typer

from nephila.cli import running
from nephila.cli.crawl_options import naming_options, with_limits
from nephila.cli.options import ALLOW_PRIVATE, LOG_WARNINGS, WORK, CrawlArgument, JsonOption, QuietOption, with_settings
from nephila.control import crawls
from nephila.settings import ProcessSettings


@with_limits
@with_settings(*WORK, ALLOW_PRIVATE, *LOG_WARNINGS)
def resume(
    crawl: CrawlArgument = None,
    *,
    limits: dict[str, int],
    settings: ProcessSettings,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Go on with a crawl that was interrupted; the latest unfinished one where none is named.

    With a higher limit also with one that ended at it: the URLs that the limit ended are crawled.
    """
    settings = running.quieter(settings)
    opened = running.open_for_work(settings, create=False)
    with naming_options():
        found, begin = crawls.resume(opened.catalog, crawl, limits)
    raise typer.Exit(running.run_crawl(settings, opened, found, begin, json=json, quiet=quiet))
