"""Broken answers of HTTP/1 as one table: what a server sends, and what a fetch makes of it.

Where browsers and libcurl read over a fault, so do we; where they differ the stricter one holds, since a head that two
programs read differently is how requests are smuggled. No outcome is an exception.
"""

import gzip
import zlib
from dataclasses import dataclass

import brotli
import zstandard

from nephila.models import Reason

PAGE = b"<a href=/x>hi</a>"
PROTOCOL, RESET, TOO_LONG = Reason.PROTOCOL, Reason.RESET, Reason.HEADERS_TOO_LONG


@dataclass(frozen=True, slots=True)
class Broken:
    sent: bytes
    outcome: int | Reason  # the status, or why there is none
    body: bytes | None = PAGE  # decoded; None where there is no answer
    truncated: str | None = None
    problem: str = ""  # of the codings: what the note begins with
    close: bool = True  # the server closes the connection after it


def lines(*fields: bytes, status: bytes = b"HTTP/1.1 200 OK", end: bytes = b"\r\n") -> bytes:
    return end.join((status, *fields, b"", b""))


LENGTH = b"Content-Length: %d" % len(PAGE)
CHUNKED = b"Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)
OK = lines(LENGTH) + PAGE


def no_answer(sent: bytes, reason: Reason) -> Broken:
    return Broken(sent, reason, None)


def by_status(status: bytes, outcome: int = 200, body: bytes = PAGE) -> Broken:
    return Broken(lines(LENGTH, status=status) + PAGE, outcome, body)


def with_fields(*fields: bytes, sent: bytes = PAGE, **outcome: object) -> Broken:
    """An answer that ends with its connection."""
    return Broken(lines(*fields) + sent, 200, **outcome)  # type: ignore[arg-type]


def chunked(sent: bytes, body: bytes = PAGE, *more: bytes, **outcome: object) -> Broken:
    return Broken(lines(CHUNKED, *more) + sent, 200, body, **outcome)  # type: ignore[arg-type]


def coded(coding: bytes, sent: bytes, body: bytes = PAGE, **outcome: object) -> Broken:
    return Broken(
        lines(b"Content-Encoding: " + coding, b"Content-Length: %d" % len(sent)) + sent,
        200,
        body,
        **outcome,  # type: ignore[arg-type]
    )


def nested(times: int) -> bytes:
    body = PAGE
    for _ in range(times):
        body = gzip.compress(body, mtime=0)
    return body


LONG = b"<p>" + bytes(range(32, 127)) * 40 + b"</p>"

STATUS_LINES: dict[str, Broken] = {
    "status without a phrase": by_status(b"HTTP/1.1 200"),
    "status with a space behind": by_status(b"HTTP/1.1 200 "),
    "status and phrase in one": by_status(b"HTTP/1.1 200OK"),
    "status after a tab": by_status(b"HTTP/1.1\t200\tOK"),
    "status in lower case": by_status(b"http/1.1 200 OK"),
    "status with a binary phrase": by_status(b"HTTP/1.1 200 \x80\xff\x1b[31m"),
    "status with a phrase of 60 KB": by_status(b"HTTP/1.1 200 " + b"x" * 60_000),
    "status 999": by_status(b"HTTP/1.1 999 Odd", 999),
    "status 600": by_status(b"HTTP/1.1 600 Odd", 600),
    "status 299": by_status(b"HTTP/1.1 299 Odd", 299),
    "status 1000": no_answer(lines(LENGTH, status=b"HTTP/1.1 1000 Odd") + PAGE, PROTOCOL),
    "status of two digits": no_answer(lines(LENGTH, status=b"HTTP/1.1 20 OK") + PAGE, PROTOCOL),
    "status 000": no_answer(lines(LENGTH, status=b"HTTP/1.1 000 OK") + PAGE, PROTOCOL),
    "status 099": no_answer(lines(LENGTH, status=b"HTTP/1.1 099 OK") + PAGE, PROTOCOL),
    "status below zero": no_answer(lines(LENGTH, status=b"HTTP/1.1 -20 OK") + PAGE, PROTOCOL),
    "status in letters": no_answer(lines(LENGTH, status=b"HTTP/1.1 OK") + PAGE, PROTOCOL),
    "status in other digits": no_answer(lines(LENGTH, status=b"HTTP/1.1 \xb2\xb2\xb2 OK") + PAGE, PROTOCOL),
    "status after two spaces": no_answer(lines(LENGTH, status=b"HTTP/1.1  200 OK") + PAGE, PROTOCOL),
    "status after a blank line": no_answer(b"\r\n" + OK, PROTOCOL),
    "status after a space": no_answer(b" " + OK, PROTOCOL),
    "status after a mark of UTF-8": no_answer(b"\xef\xbb\xbf" + OK, PROTOCOL),
    "status after a NUL": no_answer(b"\0" + OK, PROTOCOL),
    "status with a NUL": no_answer(lines(LENGTH, status=b"HTTP/1.1 200 O\0K") + PAGE, PROTOCOL),
    "status in UTF-16": no_answer(OK.decode("latin-1").encode("utf-16"), PROTOCOL),
    "status alone": no_answer(b"HTTP/1.1 200 OK", RESET),
    "status alone, a line": no_answer(b"HTTP/1.1 200 OK\r\n", RESET),
    "version 1.0": by_status(b"HTTP/1.0 200 OK"),
    "version 1.2": no_answer(lines(LENGTH, status=b"HTTP/1.2 200 OK") + PAGE, PROTOCOL),
    "version 1": no_answer(lines(LENGTH, status=b"HTTP/1 200 OK") + PAGE, PROTOCOL),
    "version 2 in plain": no_answer(lines(LENGTH, status=b"HTTP/2 200 OK") + PAGE, PROTOCOL),
    "version 3 in plain": no_answer(lines(LENGTH, status=b"HTTP/3 200 OK") + PAGE, PROTOCOL),
    "version 7": no_answer(lines(LENGTH, status=b"HTTP/7 200 OK") + PAGE, PROTOCOL),
    "version 0.9": no_answer(b"<html>old</html>", PROTOCOL),
    "version of ICY": no_answer(lines(LENGTH, status=b"ICY 200 OK") + PAGE, PROTOCOL),
    "another protocol, SSH": no_answer(b"SSH-2.0-OpenSSH_9.6\r\n", PROTOCOL),
    "another protocol, FTP": no_answer(b"220 ready\r\n", PROTOCOL),
    "another protocol, SMTP": no_answer(b"220 mail ESMTP\r\n500 what?\r\n", PROTOCOL),
    "another protocol, TLS": no_answer(b"\x15\x03\x01\x00\x02\x02\x46", PROTOCOL),
    "another protocol, HTTP/2": no_answer(b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64", PROTOCOL),
    "garbage": no_answer(bytes(range(256)) * 4, PROTOCOL),
    "nonsense": no_answer(b"!!! nonsense\r\n\r\n", PROTOCOL),
    "nothing": no_answer(b"", RESET),
    "line ends only": no_answer(b"\r\n\r\n\r\n", PROTOCOL),
    "a request": no_answer(b"GET / HTTP/1.1\r\nHost: you\r\n\r\n", PROTOCOL),
}

INTERIM: dict[str, Broken] = {
    "100 before": Broken(lines(status=b"HTTP/1.1 100 Continue") + OK, 200),
    "103 before": Broken(lines(b"Link: </a>", status=b"HTTP/1.1 103 Early Hints") + OK, 200),
    "100 twenty times": Broken(lines(status=b"HTTP/1.1 100 Continue") * 20 + OK, 200),
    "100 alone": no_answer(lines(status=b"HTTP/1.1 100 Continue"), RESET),
    "100 with a length": Broken(lines(b"Content-Length: 5", status=b"HTTP/1.1 100 Continue") + OK, 200),
    "100 before 404": Broken(
        lines(status=b"HTTP/1.1 100 Continue") + lines(LENGTH, status=b"HTTP/1.1\t404 No") + PAGE, 404
    ),
    "100 and a stray line end": no_answer(lines(status=b"HTTP/1.1 100 Continue") + b"\r\n" + OK, PROTOCOL),
    "100 and garbage": no_answer(lines(status=b"HTTP/1.1 100 Continue") + b"garbage\r\n\r\n", PROTOCOL),
    "103 and two stray line ends": no_answer(
        lines(b"Link: x", status=b"HTTP/1.1 103 Early") + b"\r\n\r\n" + OK, PROTOCOL
    ),
    "100 ten thousand times": no_answer(lines(status=b"HTTP/1.1 100 Continue") * 10_000 + OK, TOO_LONG),
    "101 that nobody asked for": Broken(lines(b"Upgrade: h2c", status=b"HTTP/1.1 101 Switching") + b"x", 101, b"x"),
    "100 with bare line feeds": Broken(lines(status=b"HTTP/1.1 100 Continue", end=b"\n") * 2 + OK, 200),
    "100 ten thousand times, bare line feeds": no_answer(
        lines(status=b"HTTP/1.1 100 Continue", end=b"\n") * 10_000 + lines(LENGTH, end=b"\n") + PAGE, TOO_LONG
    ),
    "102 before": Broken(lines(status=b"HTTP/1.1 102 Processing") + OK, 200),
    "199 before": Broken(lines(status=b"HTTP/1.1 199 Odd") + OK, 200),
}

FIELDS: dict[str, Broken] = {
    "fields: none": Broken(b"HTTP/1.1 200 OK\r\n\r\n" + PAGE, 200),
    "fields: bare line feeds": Broken(lines(LENGTH, end=b"\n") + PAGE, 200),
    "fields: mixed line ends": Broken(b"HTTP/1.1 200 OK\r\nA: b\n" + LENGTH + b"\r\n\n" + PAGE, 200),
    "fields: bare carriage returns": no_answer(lines(LENGTH, end=b"\r") + PAGE, RESET),
    "fields: a carriage return inside": no_answer(lines(b"A: b\rC: d", LENGTH) + PAGE, PROTOCOL),
    "fields: a NUL": no_answer(lines(b"A: b\0c", LENGTH) + PAGE, PROTOCOL),
    "fields: a NUL in a name": no_answer(lines(b"A\0: b", LENGTH) + PAGE, PROTOCOL),
    "fields: control bytes": with_fields(b"A: \x01\x1b[2J\x7f", LENGTH),
    "fields: bytes above 127": with_fields(b"A: \xff\xfe\xe4", b"\xe4: b", LENGTH),
    "fields: without a colon": no_answer(lines(b"nonsense", LENGTH) + PAGE, PROTOCOL),
    "fields: only a colon": with_fields(b":", LENGTH),
    "fields: without a name": with_fields(b": b", LENGTH),
    "fields: a space before the colon": with_fields(b"Content-Length : %d" % len(PAGE)),
    "fields: a space in the name": with_fields(b"Content Length: 2", LENGTH),
    "fields: folded": with_fields(b"A: b", b"  folded", b"\tagain", LENGTH),
    "fields: folded first": no_answer(lines(b" folded", LENGTH) + PAGE, PROTOCOL),
    "fields: a folded length": with_fields(b"Content-Length:", b" %d" % len(PAGE)),
    "fields: without a space": with_fields(b"Content-Length:%d" % len(PAGE)),
    "fields: upper case": with_fields(b"CONTENT-LENGTH: %d" % len(PAGE)),
    "fields: a thousand": with_fields(*(b"A%d: b" % number for number in range(1000)), LENGTH),
    "fields: one of 65 KB": with_fields(b"A: " + b"x" * 65_000, LENGTH),
    "fields: one of 110 KB": no_answer(lines(b"A: " + b"x" * 110_000, LENGTH), TOO_LONG),
    "fields: 140 KB in all": no_answer(lines(*(b"A%d: %s" % (n, b"x" * 1000) for n in range(140))), TOO_LONG),
    "fields: 1.8 MB in all": no_answer(lines(*(b"A%d: %s" % (n, b"x" * 90_000) for n in range(20))), TOO_LONG),
    "fields: cut in one": no_answer(b"HTTP/1.1 200 OK\r\nContent-Le", RESET),
    "fields: cut after one": no_answer(b"HTTP/1.1 200 OK\r\nA: b\r\n", RESET),
    "fields: two types": with_fields(b"Content-Type: text/plain", b"Content-Type: text/html", LENGTH),
    "fields: a status line inside": no_answer(lines(b"HTTP/1.1 404 No", LENGTH) + PAGE, PROTOCOL),
    "fields: two answers": Broken(OK + lines(LENGTH, status=b"HTTP/1.1 404 No") + PAGE, 200),
    "fields: a location in bytes": Broken(lines(b"Location: /\xff\xfe\x80", LENGTH) + PAGE, 200),
    "fields: a cookie of 50 KB": with_fields(b"Set-Cookie: a=" + b"x" * 50_000, LENGTH),
}

LENGTHS: dict[str, Broken] = {
    "length: none": with_fields(b"A: b"),
    "length: too long": with_fields(b"Content-Length: 100", truncated="disconnect"),
    "length: too short": with_fields(b"Content-Length: 9", body=PAGE[:9]),
    "length: too short, connection kept": with_fields(b"Content-Length: 9", body=PAGE[:9], close=False),
    "length: zero before a body": with_fields(b"Content-Length: 0", body=b""),
    "length: twice the same": with_fields(LENGTH, LENGTH),
    "length: two different": no_answer(lines(b"Content-Length: 2", b"Content-Length: 3") + PAGE, PROTOCOL),
    "length: a list of the same": with_fields(b"Content-Length: 17, 17"),
    "length: a list of two": no_answer(lines(b"Content-Length: 17, 3") + PAGE, PROTOCOL),
    "length: negative": no_answer(lines(b"Content-Length: -5") + PAGE, PROTOCOL),
    "length: with a plus": no_answer(lines(b"Content-Length: +17") + PAGE, PROTOCOL),
    "length: hexadecimal": no_answer(lines(b"Content-Length: 0x11") + PAGE, PROTOCOL),
    "length: a fraction": no_answer(lines(b"Content-Length: 17.0") + PAGE, PROTOCOL),
    "length: words": no_answer(lines(b"Content-Length: many") + PAGE, PROTOCOL),
    "length: empty": no_answer(lines(b"Content-Length:") + PAGE, PROTOCOL),
    "length: zeros before": with_fields(b"Content-Length: 000000000017"),
    "length: of 19 digits": with_fields(b"Content-Length: 9223372036854775807", truncated="disconnect"),
    "length: of 30 digits": with_fields(b"Content-Length: " + b"9" * 30),
    "length: on 204": Broken(lines(LENGTH, status=b"HTTP/1.1 204 None") + PAGE, 204, b""),
    "length: on 304": Broken(lines(LENGTH, status=b"HTTP/1.1 304 Same"), 304, b""),
    "length: on 304 with a body": Broken(lines(LENGTH, status=b"HTTP/1.1 304 Same") + PAGE, 304, b""),
    "length: and chunked": chunked(CHUNKS, PAGE, LENGTH),
    "length: and chunked, reversed": Broken(lines(b"Content-Length: 3", CHUNKED) + CHUNKS, 200),
}

CHUNKINGS: dict[str, Broken] = {
    "chunked: well": chunked(CHUNKS, close=False),
    "chunked: without end": chunked(b"%x\r\n%s\r\n" % (len(PAGE), PAGE), truncated="disconnect", problem="chunked"),
    "chunked: cut in a chunk": chunked(b"ff\r\n" + PAGE, truncated="disconnect", problem="chunked"),
    "chunked: cut in a size": chunked(b"%x" % len(PAGE), b"11", truncated="disconnect", problem="chunked"),
    "chunked: nothing": chunked(b"", b"", truncated="disconnect"),
    "chunked: not at all": chunked(PAGE, truncated="disconnect", problem="chunked: not chunked"),
    "chunked: garbage behind": chunked(CHUNKS[:-5] + b"zz\r\n?", truncated="disconnect", problem="chunked"),
    "chunked: bare line feeds": chunked(CHUNKS.replace(b"\r\n", b"\n")),
    "chunked: an extension": chunked(b'11;a=b;c="d"\r\n' + PAGE + b"\r\n0;x\r\n\r\n"),
    "chunked: an extension of 3 KB": chunked(b"11;a=" + b"x" * 3000 + b"\r\n" + PAGE + b"\r\n0\r\n\r\n"),
    "chunked: spaces behind the size": chunked(b"11  \r\n" + PAGE + b"\r\n0\r\n\r\n"),
    "chunked: a space before the size": chunked(b" 11\r\n" + PAGE + b"\r\n0\r\n\r\n", truncated="disconnect"),
    "chunked: zeros before the size": chunked(b"0000000011\r\n" + PAGE + b"\r\n0\r\n\r\n"),
    "chunked: a size of 20 digits": chunked(
        b"f" * 20 + b"\r\n" + PAGE, b"f" * 20 + b"\r\n" + PAGE, truncated="disconnect", problem="chunked: not chunked"
    ),
    "chunked: a size of 16 digits": chunked(b"f" * 16 + b"\r\n" + PAGE, truncated="disconnect", problem="chunked"),
    "chunked: a negative size": chunked(
        b"-11\r\n" + PAGE, b"-11\r\n" + PAGE, truncated="disconnect", problem="chunked: not chunked"
    ),
    "chunked: a size with 0x": chunked(
        b"0x11\r\n" + PAGE, b"0x11\r\n" + PAGE, truncated="disconnect", problem="chunked: not chunked"
    ),
    "chunked: no line end behind a chunk": chunked(b"11\r\n" + PAGE + b"0\r\n\r\n", truncated="disconnect"),
    "chunked: a chunk too long": chunked(
        b"3\r\n" + PAGE + b"\r\n0\r\n\r\n", PAGE[:3], truncated="disconnect", problem="chunked"
    ),
    "chunked: bytes after the end": chunked(CHUNKS + b"more"),
    "chunked: trailers": chunked(CHUNKS[:-2] + b"A: b\r\nContent-Length: 1\r\n\r\n"),
    "chunked: trailers without end": chunked(CHUNKS[:-2] + b"A: b\r\n", truncated="disconnect"),
    "chunked: no last line": chunked(CHUNKS[:-2], truncated="disconnect"),
    "chunked: twice in one": chunked(CHUNKS, PAGE, CHUNKED),
    "chunked: in 1.0": Broken(lines(CHUNKED, status=b"HTTP/1.0 200 OK") + CHUNKS, 200),
    "chunked: upper case": Broken(lines(b"TRANSFER-ENCODING: CHUNKED") + CHUNKS, 200),
    "chunked: and identity": Broken(lines(b"Transfer-Encoding: identity, chunked") + CHUNKS, 200),
    "chunked: gzip inside": Broken(
        lines(b"Transfer-Encoding: gzip, chunked") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(nested(1)), nested(1)), 200
    ),
    "chunked: an unknown coding": Broken(lines(b"Transfer-Encoding: sdch") + PAGE, 200, problem="unknown coding"),
    "chunked: not the last": Broken(lines(b"Transfer-Encoding: chunked, gzip") + CHUNKS, 200, problem="not gzip"),
    "chunked: on 204": Broken(lines(CHUNKED, status=b"HTTP/1.1 204 None") + CHUNKS, 204, b""),
    "chunked: one byte each": chunked(b"".join(b"1\r\n%c\r\n" % byte for byte in PAGE) + b"0\r\n\r\n"),
    "chunked: an empty one": chunked(b"0\r\n\r\n", b""),
}

CODINGS: dict[str, Broken] = {
    "coding: gzip that is none": coded(b"gzip", PAGE, problem="not gzip"),
    "coding: br that is none": coded(b"br", PAGE, problem="not br"),
    "coding: deflate that is none": coded(b"deflate", PAGE, problem="not deflate"),
    "coding: zstd that is none": coded(b"zstd", PAGE, problem="not zstd"),
    "coding: unknown": coded(b"x-nonsense", PAGE, problem="unknown coding"),
    "coding: empty": coded(b"", PAGE),
    "coding: commas": coded(b",, ,", PAGE),
    "coding: identity": coded(b"identity", PAGE),
    "coding: gzip in upper case": coded(b"GZIP", nested(1)),
    "coding: gzip twice": coded(b"gzip, gzip", nested(2)),
    "coding: gzip six times": coded(b"gzip, " * 5 + b"gzip", nested(6), nested(1), problem="too many codings"),
    "coding: gzip cut short": coded(b"gzip", gzip.compress(LONG)[:-9], LONG[:-1], problem="gzip: "),
    "coding: gzip with a wrong sum": coded(b"gzip", gzip.compress(LONG)[:-8] + b"\0" * 8, LONG, problem="gzip: broken"),
    "coding: gzip and garbage behind": coded(b"gzip", nested(1) + b"garbage"),
    "coding: gzip of two members": coded(b"gzip", nested(1) * 2, PAGE * 2),
    "coding: gzip of nothing": coded(b"gzip", b"", b""),
    "coding: deflate raw": coded(b"deflate", zlib.compress(PAGE)[2:-4]),
    "coding: deflate as zlib": coded(b"deflate", zlib.compress(PAGE)),
    "coding: br cut short": coded(b"br", brotli.compress(LONG)[:-3], LONG[:96], problem="br: "),
    "coding: zstd cut short": coded(b"zstd", zstandard.compress(LONG)[:-3], b"", problem="zstd: "),
    "coding: zstd with a huge window": coded(
        b"zstd",
        zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27)).compress(LONG),
        LONG,
    ),
}

BROKEN: dict[str, Broken] = STATUS_LINES | INTERIM | FIELDS | LENGTHS | CHUNKINGS | CODINGS
