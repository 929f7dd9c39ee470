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
LINKS_CACHED = 20_000  # the same; some 8 MB

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


def job_frames(message: Any, body: bytes) -> tuple[bytes, bytes]:
    """A message and the body it is about, which is not copied for it."""
    return frame_of(message) + LENGTH.pack(len(body)), body


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


# --- a reading, without what the other side knows already: most links of a site are on many of its pages


class Telling:
    """The helper's side: a link is told in full once, and is a number from then on."""

    def __init__(self) -> None:
        self._numbers: dict[Found, int] = {}
        self._anew = False

    def forget(self) -> None:
        """What was told last may never arrive: the next reading begins anew."""
        self._anew = True

    def packed(self, reading: PageReading) -> tuple[Any, ...]:
        """Only built-in types: a pickled named tuple or enum member costs three times as much to read."""
        anew, numbers = self._anew or len(self._numbers) + len(reading.found) > LINKS_CACHED, self._numbers
        if anew:
            numbers.clear()
            self._anew = False
        told, new = [], []
        for link in reading.found:
            number = numbers.get(link)
            if number is None:
                number = numbers[link] = len(numbers)
                new.append(tuple(link))
            told.append(number)
        refused = [(host, refusal.value, count) for (host, refusal), count in reading.refused.items()]
        links = (anew, new, told)
        return (reading.charset, reading.title, reading.facts, links, refused, reading.refused_urls, reading.nofollow)


class Told:
    """Our side of one helper: what it has told, in its order."""

    def __init__(self) -> None:
        self._links: list[Found] = []

    def unpacked(self, fields: tuple[Any, ...]) -> PageReading:
        charset, title, facts, (anew, new, told), refused, refused_urls, nofollow = fields
        links = self._links
        if anew:
            links.clear()
        links += [_new(Found, link) for link in new]
        return PageReading(
            charset,
            title,
            facts,
            list(map(links.__getitem__, told)),
            {(host, _REFUSALS[reason]): count for host, reason, count in refused},
            refused_urls,
            nofollow,
        )
