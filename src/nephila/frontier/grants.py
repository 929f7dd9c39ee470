"""How the pages of a crawl with max_pages are handed out to sessions, for both stores. Pure."""

from typing import NamedTuple


class Share(NamedTuple):
    """What a session has of a crawl after its flush."""

    in_hand: int  # pages it may bring
    granted: int  # how many more pages are brought or in some session's hand than before; below 0: some went back
    spent: bool  # no page is left for any session


def share_of(left: int, in_hand: int, used: int, wanted: int | None) -> Share:
    """`left`: pages in nobody's hand, below 0 where the limit was lowered; `wanted` None: the session did not ask.

    Pages without a grant were sent for before the limit was set or lowered: they count, and nobody is given them again.
    Pages that the session has no use for, or that the limit does not allow any more, go back.
    """
    kept, ungranted = max(0, in_hand - used), max(0, used - in_hand)
    left -= ungranted
    more = 0 if wanted is None else max(min(wanted - kept, left), -kept)
    return Share(kept + more, ungranted + more, wanted is not None and left <= more)
