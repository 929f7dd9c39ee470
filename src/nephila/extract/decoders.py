"""Bytes to text as the WHATWG encoding standard has it, where Python's codecs of the same name differ.

They differ in characters that the standard's tables have beside those of the codec, in some that it maps elsewhere, and
in how much of an invalid sequence is one U+FFFD: never an ASCII byte, which may be the `<` of a tag. So the codec does
the work, at its speed, an error handler does the rest, and a few characters are replaced.
"""

import codecs
import re
from collections.abc import Callable
from functools import lru_cache

from nephila.extract.grammar import many

REPLACEMENT = "\ufffd"

_Handled = tuple[str, int]

# --- one byte, one character: undefined bytes from 0x80 to 0x9F are control characters, others are errors

_WITH_CONTROLS = ("cp874", *(f"cp125{number}" for number in range(9)))
_MAPPED = {"koi8-u": {0xAE: "ў", 0xBE: "Ў"}, "cp1255": {0xCA: "\u05ba"}}
SINGLE_BYTE = frozenset((*_WITH_CONTROLS, *_MAPPED))


@lru_cache
def table_of(codec: str) -> str:
    """The 256 characters of a codec of `SINGLE_BYTE`; U+FFFE stands for none."""
    mapped = _MAPPED.get(codec, {})
    controls = range(0x80, 0xA0) if codec in _WITH_CONTROLS else ()
    return "".join(
        mapped.get(byte) or bytes([byte]).decode(codec, "ignore") or (chr(byte) if byte in controls else "\ufffe")
        for byte in range(256)
    )


# --- two bytes, one character

# Big5: characters that big5hkscs lacks, each row from the two bytes of its first on.
_BIG5_ROWS = """
877a㡵𡵓𣚞𦀡㻬
87a1𥣞㫵竼龗𤅡𨤍𣇪𠪊𣉞䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆㓦珄𥶹瓆鿇垳䤯呌䄱𣚎堘穲𧭥讏䚮𦺈䆁𥶙箮𢒼鿈
87d3𢓁𢓉𢓌鿉蔄𣖻䂴鿊䓡𪷿拁灮鿋 a3c0␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟␡€ 8e69箸 8e6f簆 8e7e糎 8eab緒 8eb4縝
8ecd者 8ed0耨 8f57菁 8f69蒨 8f6e萏 8fcb覦覩 8ffe起 906d都 907a銹 90dc靜 90f1響 91bf鼖 9244蔃 92af兙兛兝兞
92c8鍮 92d1瑹 9447浧 94ca禛 95d9邗 9644靝 96ed瀞 96fc嬨 9b76爁 9b78矗 9b7b纇 9bc6駖 9bde釔 9bec惞 9bf6澶
9c42輶 9c53侻 9c62營 9c68鄄 9c6b鷰 9c77菏 9cbc尐秣 9cd0婧 9d57輋 9d5a筑 9dc4拐 9ea9恢 9eef痹 9efd汊 9f60鬮
9f66鼗 9fcb僭 9fd8弌 a063蠏 a077拎 a0d5瑨 a0df煢 a0e4牐 c6cf廴 c6d3无 c6d5癶 c6d7隶 c6de〃仝 fa5f倩 fa66偽
fabd包 fac5卄 fad5卿 fb48嘅 fbb8婷 fbf3幵 fbf9廐 fc4f彘 fc6c悤 fcb9撐 fce2晴 fcf1杞 fdb7沜渝 fdbb港 fdf1煮
fe52猪 fe6f瑜 feaa瓩 fedd砉
"""
_BIG5 = {int(row[:4], 16) + place: character for row in _BIG5_ROWS.split() for place, character in enumerate(row[4:])}
GB18030_PRIVATE = (
    "\ue78d\ue78e\ue78f\ue790\ue791\ue792\ue793\ue794\ue795\ue796\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864"
)
_REPLACED: dict[str, dict[int, int]] = {
    "big5hkscs": str.maketrans("•､‾∼♁☉¥¢£", "‧﹑¯～⊕⊙￥￠￡"),
    "cp932": dict.fromkeys(range(0xF8F0, 0xF8F4), ord(REPLACEMENT)),
    "euc_jp": str.maketrans("〜‖−¢£¬", "～∥－￠￡￢"),
    "gb18030": str.maketrans(f"\ue5e5\ue7c7ḿ{GB18030_PRIVATE}", "\u3000ḿ\ue7c7︐︒︑︓︔︕︖︗︘︙龴龵龶龷龸龹龺龻"),
}


# In big5hkscs these two mean the same as others, so they are taken out beforehand.
_BIG5_SLASHES = {b"": "", b"\xa2A": "∕", b"\xa2B": "﹨"}
_BIG5_OTHERS = many(r"[^\x81-\xfe]++|(?!\xa2[AB])[\x81-\xfe][\x40-\xff]|[\x81-\xfe](?![\x40-\xff])")
_big5_parts = re.compile(rf"({_BIG5_OTHERS})(\xa2[AB]|)".encode()).findall


def _big5(raw: bytes) -> str:
    return "".join(_read(part, "big5hkscs") + _BIG5_SLASHES[slash] for part, slash in _big5_parts(raw))


def _after_pair(raw: bytes, at: int) -> int:
    """Where reading goes on after a lead byte at this place that means nothing with what follows it."""
    return at + 1 if raw[at + 1 : at + 2] < b"\x80" else at + 2


def _handle_pair(error: UnicodeError) -> _Handled:
    assert isinstance(error, UnicodeDecodeError)
    raw, at = error.object, error.start
    is_lead = raw[at] not in (0x80, 0xFF)
    return REPLACEMENT, _after_pair(raw, at) if is_lead else at + 1


def _handle_big5(error: UnicodeError) -> _Handled:
    assert isinstance(error, UnicodeDecodeError)
    raw, at = error.object, error.start
    if (character := _BIG5.get(int.from_bytes(raw[at : at + 2], "big"))) is not None:
        return character, at + 2
    return _handle_pair(error)


def _handle_shift_jis(error: UnicodeError) -> _Handled:
    assert isinstance(error, UnicodeDecodeError)
    raw, at = error.object, error.start
    return REPLACEMENT, _after_pair(raw, at)


def _handle_euc_jp(error: UnicodeError) -> _Handled:
    """The rows of NEC and IBM are those of Shift_JIS, which has the same table by other bytes."""
    assert isinstance(error, UnicodeDecodeError)
    raw, at = error.object, error.start
    lead, trail = (*raw[at : at + 2], 0)[:2]
    if lead == 0x8F and trail >= 0xA1 and trail != 0xFF:
        return REPLACEMENT, _after_pair(raw, at + 1)
    if lead >= 0xA1 and trail >= 0xA1 and lead != 0xFF and trail != 0xFF:
        pointer = (lead - 0xA1) * 94 + trail - 0xA1
        row, place = divmod(pointer, 188)
        shifted = bytes([row + (0x81 if row < 31 else 0xC1), place + (0x40 if place < 63 else 0x41)])
        character = shifted.decode("cp932", "replace")
        return character if len(character) == 1 else REPLACEMENT, at + 2
    return REPLACEMENT, _after_pair(raw, at) if lead in (0x8E, 0x8F) or 0xA1 <= lead <= 0xFE else at + 1


def _handle_gb18030(error: UnicodeError) -> _Handled:
    assert isinstance(error, UnicodeDecodeError)
    raw, at = error.object, error.start
    if raw[at] == 0x80:
        return "€", at + 1
    if raw[at] == 0xFF:
        return REPLACEMENT, at + 1
    if (four := _four(raw, at)) is not None:
        return REPLACEMENT, four.end()
    return REPLACEMENT, _after_pair(raw, at)


# Four bytes, or what the end of the page left of them.
_four = re.compile(rb"[\x81-\xfe][0-9](?:[\x81-\xfe](?:[0-9]|\Z)|\Z)").match

_HANDLED: dict[str, Callable[[UnicodeError], _Handled]] = {
    "big5hkscs": _handle_big5,
    "cp932": _handle_shift_jis,
    "cp949": _handle_pair,
    "euc_jp": _handle_euc_jp,
    "gb18030": _handle_gb18030,
}
for _codec, _handler in _HANDLED.items():
    codecs.register_error(f"nephila.{_codec}", _handler)

# --- ISO-2022-JP: the table of EUC-JP without its high bits, and escapes that switch to it and back

_escapes = re.compile(rb"\x1b(\([BIJ]|\$[@B])").split
# Bytes that are none of the table are an error of their own in EUC, too; an escape is not a part of one.
_TO_EUC = bytes(byte | 0x80 if 0x21 <= byte <= 0x7E else 0x1B if byte == 0x1B else 0x80 for byte in range(256))
_ASCII = "".join(REPLACEMENT if byte in (0x0E, 0x0F, 0x1B) or byte > 0x7F else chr(byte) for byte in range(256))
_ROMAN = _ASCII.replace("\\", "¥").replace("~", "‾")
_KATAKANA = "".join(chr(0xFF61 - 0x21 + byte) if 0x21 <= byte <= 0x5F else REPLACEMENT for byte in range(256))
_MODES = {b"(B": _ASCII, b"(J": _ROMAN, b"(I": _KATAKANA}


def _iso2022_jp(raw: bytes) -> str:
    first, *rest = _escapes(raw)
    pieces = [codecs.charmap_decode(first, "strict", _ASCII)[0]]
    for number, (escape, part) in enumerate(zip(rest[::2], rest[1::2], strict=True)):
        if number and not rest[2 * number - 1]:
            pieces.append(REPLACEMENT)  # two escapes in a row
        table = _MODES.get(escape)
        if table is not None:
            pieces.append(codecs.charmap_decode(part, "strict", table)[0])
        else:
            pieces.append(decoded(part.translate(_TO_EUC), "euc_jp").replace("\x1b", REPLACEMENT))
    return "".join(pieces)


def decoded(raw: bytes, codec: str) -> str:
    """The text of these bytes; what they cannot mean is U+FFFD. `codec` is a name of `encoding.CODECS`."""
    if codec in SINGLE_BYTE:
        return codecs.charmap_decode(raw, "replace", table_of(codec))[0]
    if codec == "iso2022_jp":
        return _iso2022_jp(raw)
    if codec == "big5hkscs" and any(slash in raw for slash in _BIG5_SLASHES if slash):
        return _big5(raw)
    if codec == "euc_jp":
        raw = raw.replace(b"\x8f\xa2\xb7", b"\xa1\xc1")  # the codec answers an ASCII tilde
    return _read(raw, "gb18030" if codec == "gbk" else codec)


def _read(raw: bytes, codec: str) -> str:
    if codec not in _HANDLED:
        return raw.decode(codec, "replace")
    text = raw.decode(codec, f"nephila.{codec}")
    replaced = _REPLACED.get(codec)
    return text if replaced is None or text.isascii() else text.translate(replaced)
