"""`nephila resume`: go on with what was interrupted."""

import typer

from nephila.cli import running
from nephila.cli.options import (
    ArchiveOption,
    ConcurrencyOption,
    CrawlArgument,
    DataOption,
    JsonOption,
    LogFileOption,
    LogFormatOption,
    LogLevelOption,
    PermitPrivateOption,
    QuietOption,
    StoreOption,
    WorkersOption,
)
from nephila.control import crawls


def resume(
    crawl: CrawlArgument = None,
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    workers: WorkersOption = None,
    concurrency: ConcurrencyOption = None,
    allow_private: PermitPrivateOption = False,
    log_level: LogLevelOption = None,
    log_format: LogFormatOption = None,
    log_file: LogFileOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Go on with a crawl that was interrupted; the latest unfinished one where none is named."""
    settings = running.worker_settings(
        data=data,
        store=store,
        archive=archive,
        workers=workers,
        concurrency=concurrency,
        allow_private=allow_private or None,
        log_level=log_level,
        log_format=log_format,
        log_file=log_file,
    )
    opened = running.open_for_work(settings, create=False)
    found = crawls.resume(opened.catalog, crawl)
    raise typer.Exit(running.run_crawl(settings, opened, found, new=False, json=json, quiet=quiet))
