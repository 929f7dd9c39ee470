"""Who must accept every file we write: warcio, fastwarc and the rule of jwarc. And exchanges to write."""

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import zstandard
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.bufferedreaders import ChunkedDataReader

from nephila.archive.archive import Archive, Exchange
from nephila.archive.reader import read_response
from nephila.archive.record import field_value
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace
from tests.patience import PATIENCE_SECONDS

REQUEST = b"GET /a HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Nephila\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
PAGE = b"<html><body>" + b"<p>some text</p>\n" * 200 + b"</body></html>"
# warcio 1.8.1 cannot use the brotli package (it sets an attribute that its decoder does not have) and dies at any
# `Content-Encoding: br` where that package is installed; without it, it reads the bytes as they are.
WARCIO = "import sys; sys.modules['brotli'] = None; from warcio.cli import main; sys.exit(main())"


def exchange(
    url: str = "http://example.org/a",
    head: bytes = HEAD,
    body: bytes = PAGE,
    *,
    request: bytes = REQUEST,
    fetched_at: int = 1_700_000_000_123,
    ip: str | None = "192.0.2.7",
    protocol: str = "http/1.1",
    truncated: str | None = None,
) -> Exchange:
    return Exchange(url, fetched_at, ip, protocol, request, head, body, truncated)


def check_place(archive: Archive, place: ArchivePlace, url: str | None = None) -> str | None:
    """None where the record is whole, its digests hold and (if asked) it is the answer of `url`; else one line."""
    try:
        read = read_response(archive, place, verify=True)
    except ArchiveError as error:
        return str(error)
    return None if url is None or read.url == field_value(url) else f"it holds the answer of {read.url}"


def complaints(*paths: Path) -> list[str]:
    return [line for path in paths for line in (*_fastwarc(path), *_complaints_of_warcio(path))]


def _complaints_of_warcio(path: Path) -> list[str]:
    readable = in_gzip(path) if path.suffix == ".zst" else path
    return [*_warcio(readable), *_jwarc(readable)]


def in_gzip(path: Path) -> Path:
    """The same records in gzip members: warcio 1.8 does not read Zstandard, fastwarc 1.1 does.

    Read as the specification of the IIPC says, by nothing of ours; what it says of each frame must hold.
    """
    data, dictionary = path.read_bytes(), None
    if data[:4] == bytes.fromhex("5d2a4d18"):
        end = 8 + int.from_bytes(data[4:8], "little")
        dictionary = zstandard.ZstdCompressionDict(zstandard.ZstdDecompressor().decompress(data[8:end]))
        data = data[end:]
    members = []
    while data:
        frame = zstandard.get_frame_parameters(data)
        assert frame.has_checksum and frame.content_size < zstandard.CONTENTSIZE_ERROR
        assert frame.dict_id == (dictionary.dict_id() if dictionary else 0)
        inflater = zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()
        members.append(gzip.compress(inflater.decompress(data)))
        assert inflater.eof, "the last frame is torn"
        data = inflater.unused_data
    made = path.with_suffix(".gz")
    made.write_bytes(b"".join(members))
    return made


def _warcio(path: Path) -> list[str]:
    command = [sys.executable, "-c", WARCIO, "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    said = (done.stdout + done.stderr).splitlines()
    return [f"warcio: {line}" for line in said or [f"exit code {done.returncode}"]] if said or done.returncode else []


def _jwarc(path: Path) -> list[str]:
    """A payload digest covers the body without its transfer coding: what jwarc checks, and the standard says."""
    found = []
    with path.open("rb") as stream:
        for record in WarcioIterator(stream):
            digest = record.rec_headers.get_header("WARC-Payload-Digest")
            if record.rec_type != "response" or digest is None:
                continue
            coding = record.http_headers.get_header("Transfer-Encoding", "")
            payload = ChunkedDataReader(record.raw_stream) if "chunked" in coding.lower() else record.raw_stream
            if digest != f"sha256:{hashlib.sha256(payload.read()).hexdigest()}":
                found.append(f"jwarc: payload digest of {record.rec_headers.get_header('WARC-Target-URI')}")
    return found


def _fastwarc(path: Path) -> list[str]:
    """Every digest there is; each record has one."""
    found = []
    try:
        for record in ArchiveIterator(str(path), parse_http=False):
            block, payload = "WARC-Block-Digest" in record.headers, "WARC-Payload-Digest" in record.headers
            if not (block or payload):
                found.append(f"fastwarc: no digest at {record.stream_pos}")
            if block and not record.verify_block_digest():
                found.append(f"fastwarc: block digest at {record.stream_pos}")
            record.parse_http()
            if payload and record.record_type == WarcRecordType.response and not record.verify_payload_digest():
                found.append(f"fastwarc: payload digest at {record.stream_pos}")
    except OSError as error:
        found.append(f"fastwarc: {error}")
    return found
