"""How the pages of a crawl with max_pages are handed out, for both stores. Pure."""

from typing import NamedTuple


class Share(NamedTuple):
    """What a session has of a crawl after its flush."""

    in_hand: int  # pages it may bring
    granted: int  # by so many the pages that are brought or in somebody's hand have become more
    spent: bool  # nobody gets another one


def share_of(left: int, in_hand: int, used: int, wanted: int | None) -> Share:
    """`left`: pages in nobody's hand, below 0 where the limit was lowered; `wanted` None: the session did not ask.

    Pages without a grant were sent for before the limit was set or lowered: they count, and nobody is given them again.
    What a session has no use for, or what the limit does not allow any more, goes back.
    """
    kept, ungranted = max(0, in_hand - used), max(0, used - in_hand)
    left -= ungranted
    more = 0 if wanted is None else max(min(wanted - kept, left), -kept)
    return Share(kept + more, ungranted + more, wanted is not None and left <= more)
