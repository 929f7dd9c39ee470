"""What a page says about itself: robots meta elements and X-Robots-Tag headers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

RAW_CHARS_MAX = 500
DIRECTIVES_MAX = 200  # read per page; the rest is noise

# Directives with a value look like a user agent prefix (`name: value`) but are none.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


@dataclass(frozen=True, slots=True)
class Directives:
    noindex: bool = False
    nofollow: bool = False
    raw: str = ""  # all values as received, for the record


_NONE = Directives()


def page_directives(meta_values: Sequence[str], x_robots_tags: Sequence[str], product_token: str) -> Directives:
    """`meta_values`: the content of the meta elements that address us. The strictest of all of them counts."""
    if not meta_values and not x_robots_tags:
        return _NONE
    words = {word for value in meta_values for word in _words(value)}
    for tag in x_robots_tags:
        words.update(_words_for(tag, product_token.lower()))
    raw = "; ".join([*meta_values, *x_robots_tags])[:RAW_CHARS_MAX]
    return Directives("noindex" in words or "none" in words, "nofollow" in words or "none" in words, raw)


def _words(value: str) -> list[str]:
    return [word.strip() for word in value.lower().split(",", DIRECTIVES_MAX)]


def _words_for(tag: str, agent: str) -> Iterator[str]:
    """The words of a header that are for everyone or for this agent: a prefix `agent:` holds until the next one."""
    addressed = True
    for word in _words(tag):
        name, colon, rest = word.partition(":")
        name = name.strip()
        if colon and name not in _VALUED and name.replace("-", "").replace("_", "").isalpha():
            addressed, word = name == agent, rest.strip()
        if addressed:
            yield word
