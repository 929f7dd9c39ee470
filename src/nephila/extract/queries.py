"""The query of a link as a browser sends it: in the encoding of its page (WHATWG URL, query state; encoding, 4 to 13).

Only what is no ASCII is replaced here: the URL parser, which knows UTF-8 alone, leaves percent signs as they are.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from nephila.extract.decoders import GB18030_PRIVATE, SINGLE_BYTE, decoded, table_of

# Their pages send UTF-8.
_UNICODE = frozenset(("utf-8", "utf-16-be", "utf-16-le"))

_beyond_ascii = re.compile(r"[^\0-\x7f]+").sub
_DROPPED = dict.fromkeys(map(ord, "\t\n\r"))  # by every URL parser
# The bytes of the special-query percent-encode set; others stay.
_PERCENT = [f"%{byte:02X}" if byte <= 0x20 or byte >= 0x7F or byte in b"\"#'<>" else chr(byte) for byte in range(256)]

_KATAKANA = (
    "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテト"
    "ナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜"
)
_HALF_WIDTH = range(0xFF61, 0xFFA0)


def in_page_encoding(href: str, codec: str) -> str:
    """A reference, its query encoded as pages in this encoding send it; `codec` is a name of `encoding.CODECS`."""
    if href.isascii() or codec in _UNICODE:
        return href
    address, hash_sign, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    if query.isascii():
        return href
    query = query.translate(_DROPPED)
    return f"{path}{mark}{_beyond_ascii(partial(_percent_encoded, codec), query)}{hash_sign}{fragment}"


def _percent_encoded(codec: str, beyond: "re.Match[str]") -> str:
    encode = _encode_iso2022_jp if codec == "iso2022_jp" else partial(_encode, _encoder(codec))
    return "".join(encode(beyond[0]))


def _encode(encoder: Callable[[str], bytes | None], text: str) -> Iterator[str]:
    for character in text:
        raw = encoder(character)
        yield _missing(character) if raw is None else "".join(map(_PERCENT.__getitem__, raw))


def _missing(character: str) -> str:
    """What stands for a character that the encoding lacks."""
    code = ord(character)
    return f"%26%23{0xFFFD if 0xD800 <= code < 0xE000 else code}%3B"


@lru_cache
def _encoder(codec: str) -> Callable[[str], bytes | None]:
    if codec in _PAIRS:
        known = _PAIRS[codec]()
        return partial(_gb18030, known) if codec == "gb18030" else known.get
    if codec in SINGLE_BYTE:
        return {character: bytes([byte]) for byte, character in enumerate(table_of(codec)) if character != "\ufffe"}.get
    return partial(_by_codec, codec)


def _by_codec(codec: str, character: str) -> bytes | None:
    try:
        return character.encode(codec)
    except UnicodeEncodeError:
        return None


def _gb18030(known: dict[str, bytes], character: str) -> bytes | None:
    raw = known.get(character) or _GB18030_ODD.get(character) or _by_codec("gb18030", character)
    return None if character == "\ue5e5" else raw


_GB18030_ODD = {"\ue7c7": b"\x815\xf47"}

# --- encodings of two bytes: what the decoder reads, turned round; of several spellings the first one


def _turned_round(codec: str, leads: range, trails: range, skipped: range = range(0)) -> dict[str, bytes]:
    known: dict[str, bytes] = {}
    for lead in leads:
        if lead in skipped:
            continue
        for trail in trails:
            raw = bytes([lead, trail])
            character = decoded(raw, codec)
            if len(character) == 1 and character != "\ufffd":
                known.setdefault(character, raw)
    return known


def _big5() -> dict[str, bytes]:
    """Without the rows of Hong Kong; of six characters the last spelling."""
    known = _turned_round("big5hkscs", range(0xA1, 0xFF), range(0x40, 0xFF))
    last = {"═": b"\xf9\xf9", "╞": b"\xf9\xe9", "╡": b"\xf9\xeb", "╪": b"\xf9\xea", "十": b"\xa4Q", "卅": b"\xa4\xca"}
    return known | last


def _japanese(known: dict[str, bytes], half_width: bytes) -> dict[str, bytes]:
    """The yen sign and the overline are ASCII here, the minus sign is that of full width."""
    kana = {chr(code): half_width + bytes([code - 0xFF61 + 0xA1]) for code in _HALF_WIDTH}
    return known | kana | {"¥": b"\\", "‾": b"~", "−": known["－"]}


def _euc_jp() -> dict[str, bytes]:
    return _japanese(_turned_round("euc_jp", range(0xA1, 0xFF), range(0xA1, 0xFF)), b"\x8e")


def _shift_jis() -> dict[str, bytes]:
    """Without the rows that IBM and NEC have both, in the spelling of NEC, and those of users."""
    low = _turned_round("cp932", range(0x81, 0xF0), range(0x40, 0xFD), range(0xED, 0xEF))
    high = _turned_round("cp932", range(0xFA, 0xFD), range(0x40, 0xFD))
    return _japanese({**high, **low, "\x80": b"\x80"}, b"")


def _gbk() -> dict[str, bytes]:
    """The two bytes of characters that were private before Unicode had them are sent for both."""
    private = {character: character.encode("gb18030") for character in GB18030_PRIVATE}
    return _turned_round("gbk", range(0x81, 0xFF), range(0x40, 0xFF)) | private | {"€": b"\x80"}


_PAIRS: dict[str, Callable[[], dict[str, bytes]]] = {
    "big5hkscs": _big5,
    "cp932": _shift_jis,
    "cp949": lambda: _turned_round("cp949", range(0x81, 0xFF), range(0x41, 0xFF)),
    "euc_jp": _euc_jp,
    "gb18030": lambda: _turned_round("gb18030", range(0x81, 0xFF), range(0x40, 0xFF)),
    "gbk": _gbk,
}


def _encode_iso2022_jp(text: str) -> Iterator[str]:
    encoder, mode = _encoder("euc_jp"), "%1B(B"
    for character in text:
        if ord(character) in _HALF_WIDTH:
            character = _KATAKANA[ord(character) - _HALF_WIDTH.start]
        raw = encoder(character)
        wanted = "%1B(B" if raw is None else "%1B(J" if raw in (b"\\", b"~") else "%1B$B"
        if wanted != mode:
            yield wanted
            mode = wanted
        yield _missing(character) if raw is None else "".join(_PERCENT[byte & 0x7F] for byte in raw)
    if mode != "%1B(B":
        yield "%1B(B"
