"""Which pages must not be parsed on the event loop: a cheap look at the bytes, safe against whoever knows it.

What makes lexbor slow (all measured, 2.8 GHz Xeon):
- size: 12 us a KB; links: 2 us each in the parser and about as much in admission;
- attributes of one tag, compared each with each: 10,000 take 270 ms in 39 KB;
- nesting: every block start tag searches the stack of open elements: 10,000 divs take 200 ms, 100,000 take 12 s;
- formatting elements (b, code, font, ...) that stay open: the standard reopens them all in every block and moves them at
  every mismatched end tag. Up to three of the same kind are kept, so only those with distinct attributes pile up:
  2,000 tags in 17 KB take 2.3 s.

Counting end tags proves nothing (`</x>` closes nothing, `title="</b>"` is none), so nothing here trusts them. Each test
bounds what ANY reading of the bytes can contain; a page that it wrongly suspects only costs a trip to a helper process.
Together they take 1.5 us a KB, an eighth of the parse they guard.
"""

import re
from collections.abc import Iterator

BYTES_FREE = 4_096  # no arrangement of so few bytes takes more than 40 ms
BYTES_INLINE_MAX = 524_288  # 10 ms of parsing, and 20,000 links are 80 ms more
TAGS_MAX = 6_000  # nested, they take 80 ms
FORMATTING_WORK_MAX = 60_000  # tags x kinds of formatting elements: 100 ms at worst
ATTRIBUTE_WORK_MAX = 400_000_000  # page bytes x bytes of the longest tag: 75 ms
TRIES_MAX = 20  # `>` looked at in a stretch before it is called a long tag

# Bytes that only encodings need in which an ASCII byte is not always its character (UTF-16, ISO-2022-JP).
_SHIFTING = (b"\0", b"\x1b")

_FORMATTING = frozenset(b"b big code em font i nobr s small strike strong tt u".split())
# Start tags with attributes; by first letter and length, because naming the elements takes twice as long.
_tags_in = re.compile(rb"<[bBcCeEfFiInNsStTuU][a-zA-Z]{0,5}+[\t\n\f\r /]").findall
# An attribute list that plainly ends where it seems to: quoted values without < and >.
_plain_tags_in = re.compile(
    rb"<[bBcCeEfFiInNsStTuU][a-zA-Z]{0,5}+(?:[\t\n\f\r ]++[a-zA-Z-]++=\"[^\"<>]{0,200}+\")++[\t\n\f\r ]*+>"
).findall


def looks_heavy(body: bytes) -> bool:
    """May parsing this take long? False is a promise: well below 250 ms, whatever the bytes and their encoding."""
    size = len(body)
    if size <= BYTES_FREE:
        return False
    if size > BYTES_INLINE_MAX or any(byte in body for byte in _SHIFTING):
        return True
    tags = body.count(b"<")
    return tags > TAGS_MAX or _formats_much(body, tags) or _has_long_tag(body, ATTRIBUTE_WORK_MAX // size)


def _formats_much(body: bytes, tags: int) -> bool:
    kinds_max = FORMATTING_WORK_MAX // tags if tags else 0
    found = _tags_in(body)
    if len(found) <= kinds_max:
        return False
    names = [name for name in set(found) if name[1:-1].lower() in _FORMATTING]
    total = sum(map(found.count, names))
    return total > kinds_max and total - _repeated(body) > kinds_max


def _repeated(body: bytes) -> int:
    """How many formatting start tags are plainly the same as another one."""
    plain = [tag for tag in _plain_tags_in(body) if tag[1:7].split(None, 1)[0].lower() in _FORMATTING]
    return len(plain) - len(set(plain))


def _has_long_tag(body: bytes, length_max: int) -> bool:
    """May a tag be longer than this? Not if in every stretch of half the length there is a `>` that must end it.

    A `>` does not end the tag around it only inside a quoted value, and a quote opens a value only right after `=`. So one
    whose last quote of each kind does not follow an `=` ends whatever tag it is in.
    """
    stride = length_max // 2
    searched, double, single = 0, -1, -1
    for start in range(0, len(body) - stride, stride):
        for end in _some_ends(body, start, start + stride):
            double = max(double, body.rfind(b'"', searched, end))
            single = max(single, body.rfind(b"'", searched, end))
            searched = end
            if not (_may_open(body, double) or _may_open(body, single)):
                break
        else:
            return True
    return False


def _some_ends(body: bytes, start: int, stop: int) -> Iterator[int]:
    for _ in range(TRIES_MAX):
        end = body.find(b">", start, stop)
        if end < 0:
            return
        yield end
        start = end + 1


def _may_open(body: bytes, quote: int) -> bool:
    """Does this quote follow an `=`, or so much white space that we cannot tell?"""
    return quote >= 0 and body[max(0, quote - 8) : quote].rstrip(b"\t\n\f\r ")[-1:] in (b"=", b"")
