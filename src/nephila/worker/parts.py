"""What a worker is made of: `wiring.py` builds the parts and hands them in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nephila.archive.archive import Archive
from nephila.clock import Clock
from nephila.extract.reader import PageReader
from nephila.fetch.fetcher import Fetcher
from nephila.fetch.resolver import Resolver
from nephila.frontier.store import Frontier, WorkerInfo
from nephila.settings import ProcessSettings
from nephila.worker.metering import Metering


@dataclass(frozen=True, slots=True)
class WorkerParts:
    store: Frontier
    archive: Archive
    resolver: Resolver
    fetcher: Fetcher
    reader: PageReader
    settings: ProcessSettings
    clock: Clock
    info: WorkerInfo
    metering: Metering
    report: Callable[[dict[str, Any]], None] = lambda event: None  # to the process that started the worker
