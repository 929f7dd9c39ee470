"""Which characters the bytes of a page mean: BOM, HTTP charset, meta prescan, windows-1252 (WHATWG HTML 13.2.3).

Names are those of Python's codecs. Where Python has a wider codec than the label says, it is the wider one that the
standard means (gb2312 is gbk, shift_jis is cp932, iso-8859-1 is cp1252). How they are read: decoders.py.
"""

import re
from functools import lru_cache

from nephila.extract.decoders import decoded
from nephila.extract.grammar import ATTRIBUTES, SPACE, each_attribute, many, tag_name

PRESCAN_BYTES = 1024
BEGINNINGS_KEPT = 1_000
# The standard's parser obeys a later meta too (it starts over); we look this far, only where the prescan found nothing.
LATE_META_BYTES = 16_384
FALLBACK = "cp1252"
UTF8 = "utf-8"

# Labels of the WHATWG encoding standard, by codec. The `replacement` encodings (iso-2022-kr, hz-gb-2312, ...) are read
# as windows-1252: their markup is ASCII, so links survive, and no script can hide in them.
_LABELS_TEXT = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": (
        "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i"
        " iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"
    ),
    "iso8859-7": (
        "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7"
        " iso_8859-7:1987 sun_eu_greek"
    ),
    "iso8859-8": (
        "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8"
        " iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical"
    ),
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": (
        "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1"
        " iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined"
        " csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement"
    ),
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": (
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
        " windows-1254 x-cp1254"
    ),
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030",
    "gbk": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": (
        "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"
    ),
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}  # fmt: skip
CODECS = {label: codec for codec, labels in _LABELS_TEXT.items() for label in labels.split()}

_BOMS = ((b"\xef\xbb\xbf", UTF8), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
# A stateless reading of ASCII bytes: where a page is all ASCII, its bytes are UTF-8 already.
_NOT_ASCII = frozenset({"utf-16-be", "utf-16-le", "iso2022_jp"})

# The prescan goes from `<` to `<`; of a meta element it catches the attributes. It differs from the tokenizer in where
# comments and the names of tags end, and it gives up, by taking all that is left, where one of them does not end.
_META = tag_name("meta")
_each_step = re.compile(
    rf"<(?:{_META}({ATTRIBUTES})>|(?:/|(?!{_META}))[a-zA-Z][^{SPACE}>]*+{ATTRIBUTES}>"
    rf"|!(?=--){many('[^-]++|-(?!->)')}-->|(?:!(?!--)|/(?![a-zA-Z])|\?)[^>]*+>|(?![a-zA-Z!/?])|(?s:.*+))".encode()
).finditer
_charset_in = re.compile(
    r"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^\t\n\f\r ;]+))", re.IGNORECASE
).search
_broken_charset_in = re.compile(r"charset[\t\n\f\r ]*=[\t\n\f\r ]*[\"']", re.IGNORECASE).search


def codec_of(label: str) -> str | None:
    return CODECS.get(label.strip("\t\n\f\r ").lower())


def charset_of(content_type: str | None) -> str | None:
    """The charset parameter of a Content-Type header, as it stands there."""
    if content_type is None or (match := _charset_in(content_type)) is None:
        return None
    return match[1] or match[2] or match[3]


def sniff_encoding(html: bytes, header_charset: str | None = None) -> str:
    """The codec that the standard says, windows-1252 where nothing was declared."""
    return _declared(html, header_charset) or FALLBACK


def decode_html(html: bytes, header_charset: str | None = None) -> tuple[str, str]:
    """The text and its codec; never raises.

    One liberty against the standard: what declares nothing and is valid UTF-8 with characters beyond ASCII is UTF-8.
    """
    codec = _declared(html, header_charset)
    if codec is None:
        codec = UTF8 if _is_beyond_ascii_utf8(html) else FALLBACK
    return decoded(html[_bom_bytes(html, codec) :], codec), codec


def utf8_of(html: bytes, header_charset: str | None = None) -> tuple[bytes, str]:
    """As decode_html, but as UTF-8. Copies only where it must: who reads it bears invalid UTF-8."""
    codec = _declared(html, header_charset)
    if html.isascii() and codec not in _NOT_ASCII:
        return html, codec or FALLBACK
    if codec == UTF8 or (codec is None and _is_beyond_ascii_utf8(html)):
        return html[_bom_bytes(html, UTF8) :], UTF8
    codec = codec or FALLBACK
    return decoded(html[_bom_bytes(html, codec) :], codec).encode(UTF8, "replace"), codec


def _declared(html: bytes, header_charset: str | None) -> str | None:
    for bom, codec in _BOMS:
        if html.startswith(bom):
            return codec
    if header_charset is not None and (named := codec_of(header_charset)) is not None:
        return named
    return _prescan(html[:PRESCAN_BYTES]) or (_prescan(html[:LATE_META_BYTES]) if len(html) > PRESCAN_BYTES else None)


def _bom_bytes(html: bytes, codec: str) -> int:
    for bom, marked in _BOMS:
        if codec == marked and html.startswith(bom):
            return len(bom)
    return 0


def _is_beyond_ascii_utf8(html: bytes) -> bool:
    if html.isascii():
        return False
    try:
        html.decode(UTF8)
    except UnicodeDecodeError as error:
        # A body that was cut at the size limit may end inside a character.
        return error.reason == "unexpected end of data" and error.start > 0 and not html[: error.start].isascii()
    return True


def _prescan(head: bytes) -> str | None:
    named = head.lower().find(b"charset")
    if named < 0:
        return None  # 2 us instead of 200 for a page that declares nothing
    # What is found up to a place is found whatever follows, and the pages of a site begin alike: 2 us instead of 25.
    beginning = head[: head.find(b">", named, PRESCAN_BYTES) + 1]
    return _scanned_beginning(beginning) or _scanned(head)


def _scanned(head: bytes) -> str | None:
    for step in _each_step(head):
        if step[1] and (codec := _codec_in_meta(step[1])) is not None:
            return UTF8 if codec.startswith("utf-16") else codec
    return None


_scanned_beginning = lru_cache(BEGINNINGS_KEPT)(_scanned)


def _codec_in_meta(tag: bytes) -> str | None:
    attributes: dict[str, str] = {}
    for name, double, single, bare in each_attribute(tag.decode("latin-1")):
        attributes.setdefault(name.lower(), double or single or bare)
    if (label := attributes.get("charset")) is not None:
        return codec_of(label)
    if attributes.get("http-equiv", "").lower() == "content-type":
        return content_codec(attributes.get("content", ""))
    return None


def content_codec(content: str) -> str | None:
    """The codec in the content of `<meta http-equiv=content-type>`; an unclosed quote is no declaration."""
    match = _charset_in(content)
    broken = _broken_charset_in(content)
    if match is None or (broken is not None and broken.start() < match.start()):
        return None
    return codec_of(match[1] or match[2] or match[3] or "")
