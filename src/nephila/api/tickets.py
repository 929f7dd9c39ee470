"""Tickets: the address of one page that needs no token for a minute, because a frame cannot send a header."""

import hashlib
import hmac
import secrets

from nephila.clock import Clock

GOOD_MS = 60_000
KEY_BYTES = 32
TICKET_CHARS_MAX = 100


class Tickets:
    """Issues and checks tickets. Their key never leaves the process: a restart ends all of them. Any thread may ask."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(KEY_BYTES)

    def issue(self, crawl: str, url_id: int) -> str:
        """`crawl`: its number or uuid, as the path that the ticket opens has it."""
        until = int(self._clock.tick_ms()) + GOOD_MS
        return f"{until}-{self._seal(crawl, url_id, until)}"

    def opens(self, ticket: str, crawl: str, url_id: int) -> bool:
        moment, _, seal = ticket.partition("-")
        if len(ticket) > TICKET_CHARS_MAX or not ticket.isascii() or not moment.isdecimal():
            return False
        genuine = hmac.compare_digest(seal, self._seal(crawl, url_id, int(moment)))
        return genuine and int(self._clock.tick_ms()) < int(moment)

    def _seal(self, crawl: str, url_id: int, until: int) -> str:
        """The signature. Its text is unique: neither a crawl's number nor its uuid has a slash."""
        return hmac.new(self._key, f"{crawl}/{url_id}/{until}".encode(), hashlib.sha256).hexdigest()
