"""What a page asks of crawlers: robots meta elements and X-Robots-Tag headers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PRODUCT_TOKEN = "nephila"
WORDS_MAX = 200  # read per value; the rest is noise

# Directives with a value look like a user agent prefix (`name: value`) but are none.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


@dataclass(frozen=True, slots=True)
class Directives:
    noindex: bool = False
    nofollow: bool = False


_NONE = Directives()


def directives_of(meta_robots: Iterable[str], x_robots_tags: Iterable[str]) -> Directives:
    """The strictest of all directives that address us."""
    words = {word for value in meta_robots for word in _words(value)}
    words.update(word for tag in x_robots_tags for word in _words_for_us(tag))
    if not words:
        return _NONE
    return Directives("noindex" in words or "none" in words, "nofollow" in words or "none" in words)


def _words(value: str) -> list[str]:
    return [word.strip() for word in value.lower().split(",", WORDS_MAX)]


def _words_for_us(tag: str) -> Iterator[str]:
    """The words of a header that are for everyone or for us: a prefix `agent:` holds until the next one."""
    addressed = True
    for word in _words(tag):
        name, colon, rest = word.partition(":")
        name = name.strip()
        # Dates after unavailable_after have colons too, but a name has no space and no digit.
        if colon and name not in _VALUED and name.replace("-", "").replace("_", "").isalpha():
            addressed, word = name == PRODUCT_TOKEN, rest.strip()
        if addressed:
            yield word
