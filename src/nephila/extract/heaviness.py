"""Which pages must not be parsed on the event loop: a cheap look at the bytes, safe against whoever knows it.

What makes lexbor slow (all measured, 2.8 GHz Xeon):
- size: 10 us a KB;
- attributes of one tag, compared each with each: 10,000 take 270 ms in 39 KB;
- nesting: every block start tag searches the stack of open elements: 10,000 divs take 200 ms, 100,000 take 12 s;
- misnesting: an end tag of a formatting element (b, code, font, ...) moves and copies elements over the whole depth,
  and text reopens all that were left open. Hill climbing over generated pages (some minutes) found 2,300 ms in 2,000
  tags (17 KB), 200 ms in 1,000 and 80 ms in 700, in pages that look harmless: as many end tags, few attributes.

So counting end tags proves nothing (`</x>` closes nothing, `title="</b>"` is none): only few tags are safe tags. Both
tests bound what ANY reading of the bytes can contain. A page they wrongly suspect costs a trip to a helper process,
which is cheaper than any look that would tell more: naming the tags of a 31 KB page takes 70 us.
"""

from collections.abc import Iterator

BYTES_FREE = 2_800  # cannot hold more than TAGS_MAX tags that matter
BYTES_INLINE_MAX = 65_536  # larger pages have more tags anyway; text alone would take 1 ms
TAGS_MAX = 700
ATTRIBUTE_WORK_MAX = 400_000_000  # page bytes x bytes of the longest tag: 75 ms
COUNT_STEP_BYTES = 4_096
BYTES_THREAD_MAX = 262_144
TAGS_THREAD_MAX = 4_000  # the worst page found of this size keeps a thread busy for some 15 s, and nothing else
TRIES_MAX = 20  # `>` looked at in a stretch before it is called a long tag

# Bytes that only those encodings need in which an ASCII byte is not always its character (UTF-16, ISO-2022-JP).
_SHIFTING = (b"\0", b"\x1b")


def looks_heavy(body: bytes) -> bool:
    """May parsing this take long? False is a promise: well below 250 ms, whatever the bytes and their encoding."""
    size = len(body)
    if size <= BYTES_FREE:
        return False
    if size > BYTES_INLINE_MAX or _has_many_tags(body):
        return True
    return any(byte in body for byte in _SHIFTING) or _has_long_tag(body, ATTRIBUTE_WORK_MAX // size)


def _has_many_tags(body: bytes) -> bool:
    """In steps, because most pages that have are known to after half their length: 0.7 us a KB."""
    tags = 0
    for start in range(0, len(body), COUNT_STEP_BYTES):
        tags += body.count(b"<", start, start + COUNT_STEP_BYTES)
        if tags > TAGS_MAX:
            return True
    return False


def fits_thread(body: bytes) -> bool:
    """Of a page that looks heavy: may a thread parse it, which nothing can end early? Larger ones go to a process."""
    return len(body) <= BYTES_THREAD_MAX and body.count(b"<") <= TAGS_THREAD_MAX


def _has_long_tag(body: bytes, length_max: int) -> bool:
    """May a tag be longer than this? Not if in every stretch of half the length there is a `>` that must end it.

    A `>` does not end the tag around it only inside a quoted value, and a quote opens a value only right after `=`. So
    one whose last quote of each kind does not follow an `=` ends whatever tag it is in.
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
