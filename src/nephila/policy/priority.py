"""Which of a host's open rows goes first."""

from nephila.models import Kind


def priority_of(depth: int, kind: Kind) -> int:
    """The priority of a row, smaller is sooner: that of its kind, else its depth. The id breaks ties."""
    fixed = kind.traits.priority
    return depth if fixed is None else fixed
