"""The header fields of a response."""

import re
from collections.abc import Sequence

# Whatever follows a line end, up to a colon and behind it: the status line is none. One call in C for all lines.
_fields = re.compile(r"\n([^:\n]*+):([^\n]*+)").findall


class Headers:
    """Names and values in their order. A look-up takes the name in lower case and meets it in any case."""

    __slots__ = ("_first", "pairs")

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.pairs = pairs
        self._first = {name.lower(): value for name, value in reversed(pairs)}

    def first(self, name: str) -> str | None:
        return self._first.get(name)

    def all(self, name: str) -> list[str]:
        """Every value of a name. Most responses have none: they cost a look into a dict, not a loop over all fields."""
        return [value for key, value in self.pairs if key.lower() == name] if name in self._first else []


def parse_headers(header_bytes: bytes) -> Headers:
    """The fields of a response's head; lines without a colon are passed over."""
    return Headers([(name.strip(), value.strip()) for name, value in _fields(header_bytes.decode("latin-1"))])
