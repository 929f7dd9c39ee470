"""The two programs that must accept every file we write: warcio and fastwarc. And exchanges to write."""

import subprocess
import sys
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType

from nephila.archive.writer import Exchange

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


def complaints(*paths: Path) -> list[str]:
    return [line for path in paths for line in (*_warcio(path), *_fastwarc(path))]


def _warcio(path: Path) -> list[str]:
    command = [sys.executable, "-c", WARCIO, "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    said = (done.stdout + done.stderr).splitlines()
    return [f"warcio: {line}" for line in said or [f"exit code {done.returncode}"]] if said or done.returncode else []


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
