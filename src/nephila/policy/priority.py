"""Which of a host's open rows goes first."""

from nephila.models import Kind

ROBOTS_PRIORITY = -1


def priority_of(depth: int, kind: Kind) -> int:
    """Smaller is sooner: breadth first, ties broken by id. Robots rows lead, because whole hosts wait for them."""
    return ROBOTS_PRIORITY if kind is Kind.ROBOTS else depth
