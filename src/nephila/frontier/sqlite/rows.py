"""Database rows to records."""

import json
from typing import Any

from nephila.frontier.store import Crawl
from nephila.models import CrawlState
from nephila.profiles import settings_from_json


def crawl_of(row: tuple[Any, ...], now: int) -> Crawl:
    (
        id,
        uuid,
        seeds,
        settings,
        state,
        reason,
        limited_by,
        seeding,
        joined,
        created_at,
        ended_at,
        active_ms,
        running_since,
    ) = row
    return Crawl(
        id=id,
        uuid=uuid,
        seeds=tuple(json.loads(seeds)),
        settings=settings_from_json(settings),
        state=CrawlState(state),
        reason=reason,
        limited_by=limited_by,
        seeding=bool(seeding),
        joined_hosts=tuple(json.loads(joined)),
        created_at=created_at,
        ended_at=ended_at,
        active_ms=active_ms + (now - running_since if running_since else 0),
    )
