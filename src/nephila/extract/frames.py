"""What processes and their helpers say to each other: length-prefixed pickles over a socket pair."""

import pickle
import socket
import struct
from dataclasses import astuple
from typing import Any

from nephila.extract.reader import PageReading, SitemapReading
from nephila.models import Refusal
from nephila.urls.admission import Example, Found

LENGTH = struct.Struct("!Q")
RULES_CACHED = 64  # in each helper; when full both sides forget all, so they always agree
LINKS_CACHED = 20_000  # the same; some 8 MB

READY = ("ready", None, 0.0)

_new = tuple.__new__  # half the time of Found._make
_REFUSALS = {refusal.value: refusal for refusal in Refusal}


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


def received(connection: socket.socket) -> bytes | None:
    """The content of a frame; None: the other side is gone."""
    head = _exactly(connection, LENGTH.size)
    return None if head is None else _exactly(connection, LENGTH.unpack(head)[0])


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    """So many bytes; None: the other side is gone before. Where the socket has no timeout they are received where they
    stay: a buffer that they are copied from would take as much memory again."""
    first = connection.recv(count, socket.MSG_WAITALL) if count else b""
    if len(first) == count:
        return first
    buffer, done = bytearray(count), len(first)
    buffer[:done] = first
    while done < count:
        got = connection.recv_into(memoryview(buffer)[done:])
        if got == 0:
            return None
        done += got
    return bytes(buffer)


# --- a reading, without what the other side knows already: most links of a site are on many of its pages


class LinkEncoder:
    """The helper's side: sends a link in full once, and as a number from then on."""

    def __init__(self) -> None:
        self._numbers: dict[Found, int] = {}
        self._anew = False

    def forget(self) -> None:
        """Begin anew with the next reading: what was sent last may never arrive."""
        self._anew = True

    def packed(self, reading: PageReading) -> tuple[Any, ...]:
        """Only built-in types: a pickled named tuple or enum member costs three times as much to read."""
        links = [*reading.found, *reading.requisites] if reading.requisites else reading.found
        anew, numbers = self._anew or len(self._numbers) + len(links) > LINKS_CACHED, self._numbers
        if anew:
            numbers.clear()
            self._anew = False
        sent, new = [], []
        for link in links:
            number = numbers.get(link)
            if number is None:
                number = numbers[link] = len(numbers)
                new.append(tuple(link))
            sent.append(number)
        refused = [(host, refusal.value, rule, count) for (host, refusal, rule), count in reading.refused.items()]
        examples = [(host, refusal.value, rule, url) for host, refusal, rule, url in reading.examples]
        told = (anew, new, sent, len(reading.found))
        body = (reading.content_hash, reading.body_bytes, reading.truncated, reading.problem)
        facts = (reading.charset, reading.title, reading.facts)
        sitemap = astuple(reading.sitemap) if reading.sitemap is not None else None
        return (*facts, told, (refused, examples), reading.refused_urls, reading.nofollow, body, sitemap)


class LinkDecoder:
    """Our side of one helper: the links that it has sent, by their number."""

    def __init__(self) -> None:
        self._links: list[Found] = []

    def unpacked(self, fields: tuple[Any, ...]) -> PageReading:
        charset, title, facts, (anew, new, sent, found), (refused, examples), refused_urls, nofollow, body, sitemap = (
            fields
        )
        links = self._links
        if anew:
            links.clear()
        links += [_new(Found, link) for link in new]
        reading = PageReading(
            charset,
            title,
            facts,
            list(map(links.__getitem__, sent[:found] if found < len(sent) else sent)),
            {(host, _REFUSALS[reason], rule): count for host, reason, rule, count in refused},
            refused_urls,
            nofollow,
            None,
            *body,
        )
        reading.examples = [_new(Example, (host, _REFUSALS[reason], rule, url)) for host, reason, rule, url in examples]
        if found < len(sent):
            reading.requisites = list(map(links.__getitem__, sent[found:]))
        if sitemap is not None:
            reading.sitemap = SitemapReading(*sitemap)
        return reading
