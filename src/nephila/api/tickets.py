"""Tickets: an address that opens one page for a minute without a header, because a frame cannot send one."""

import hashlib
import hmac
import secrets

from nephila.clock import Clock

GOOD_MS = 60_000
KEY_BYTES = 32
TICKET_CHARS_MAX = 100


class Tickets:
    """The key is made with the process and never leaves it: a restart ends all tickets. Any thread may ask."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(KEY_BYTES)

    def issue(self, crawl: str, url_id: int) -> str:
        """`crawl`: the word for it in the path that the ticket opens."""
        until = int(self._clock.tick_ms()) + GOOD_MS
        return f"{until}-{self._seal(crawl, url_id, until)}"

    def opens(self, ticket: str, crawl: str, url_id: int) -> bool:
        moment, _, seal = ticket.partition("-")
        if len(ticket) > TICKET_CHARS_MAX or not ticket.isascii() or not moment.isdecimal():
            return False
        genuine = hmac.compare_digest(seal, self._seal(crawl, url_id, int(moment)))
        return genuine and int(self._clock.tick_ms()) < int(moment)

    def _seal(self, crawl: str, url_id: int, until: int) -> str:
        """Neither a crawl's number nor its uuid has a slash: no two places have one text."""
        return hmac.new(self._key, f"{crawl}/{url_id}/{until}".encode(), hashlib.sha256).hexdigest()
