"""What the parse pool and its helpers say to each other: length-prefixed pickles over a socket pair."""

import pickle
import struct
from dataclasses import dataclass
from typing import Any

from nephila.extract.page import PageReading
from nephila.models import Refusal
from nephila.urls.admission import Found

LENGTH = struct.Struct("!Q")
RULES_CACHED = 64  # in each helper; when full both sides forget all, so they always agree

READY = ("ready", None)

_new = tuple.__new__  # half the time of Found._make
_REFUSALS = {refusal.value: refusal for refusal in Refusal}


@dataclass(frozen=True, slots=True)
class PageRules:
    """The decisions of one crawl; equal ids mean equal rules."""

    id: int | str
    settings_json: str
    seeds: tuple[str, ...]
    joined_hosts: tuple[str, ...] = ()
    obey_robots_meta: bool = True


def frame_of(message: Any) -> bytes:
    payload = pickle.dumps(message, protocol=5)
    return LENGTH.pack(len(payload)) + payload


def take_frames(buffer: bytearray) -> list[Any]:
    """The whole messages at the head of a buffer, which are removed from it."""
    messages = []
    start = 0
    while len(buffer) - start >= LENGTH.size:
        body = start + LENGTH.size
        end = body + LENGTH.unpack_from(buffer, start)[0]
        if len(buffer) < end:
            break
        with memoryview(buffer) as view, view[body:end] as payload:
            messages.append(pickle.loads(payload))
        start = end
    del buffer[:start]
    return messages


def packed(reading: PageReading) -> tuple[Any, ...]:
    """Only built-in types: a pickled named tuple or enum member costs three times as much to read."""
    return (
        reading.charset,
        reading.title,
        reading.facts,
        [tuple(found) for found in reading.found],
        [(host, refusal.value, count) for (host, refusal), count in reading.refused.items()],
        reading.refused_urls,
        reading.nofollow,
    )


def unpacked(fields: tuple[Any, ...]) -> PageReading:
    charset, title, facts, found, refused, refused_urls, nofollow = fields
    return PageReading(
        charset,
        title,
        facts,
        [_new(Found, link) for link in found],
        {(host, _REFUSALS[reason]): count for host, reason, count in refused},
        refused_urls,
        nofollow,
    )
