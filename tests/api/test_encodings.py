"""Exports are compressed for whoever takes that, while they are read; everything else is sent as it is."""

import gzip
import zlib

import httpx
import pytest

from nephila.api.routes.export import _gzipped
from tests.api.served import V1, Served

EXPORTS = [
    V1 + "/crawls/{id}/export",
    V1 + "/crawls/{id}/export?format=csv",
    "/crawl-runs/{id}/export",
    "/api/crawl/jobs/{id}/export?format=csv",
]


def sent(client: httpx.Client, path: str, accepted: str) -> tuple[httpx.Headers, bytes]:
    """The headers, and the bytes as they came over the wire."""
    with client.stream("GET", path, headers={"Accept-Encoding": accepted}) as answer:
        return answer.headers, b"".join(answer.iter_raw())


@pytest.mark.parametrize("template", EXPORTS)
def test_exports_are_compressed_where_that_is_taken(api: Served, client: httpx.Client, template: str) -> None:
    path = template.format(id=api.crawl.id)
    plain_headers, plain = sent(client, path, "identity")
    headers, packed = sent(client, path, "gzip, br;q=0.5")
    assert (headers["content-encoding"], gzip.decompress(packed)) == ("gzip", plain)
    assert b"http://a.test/" in plain and "content-encoding" not in plain_headers
    assert headers["vary"] == plain_headers["vary"] == "Accept-Encoding"
    assert headers["content-disposition"] == plain_headers["content-disposition"]
    assert "content-encoding" not in sent(client, path, "br, gzip;q=0")[0]


@pytest.mark.parametrize("path", ["/crawls", "/stats", "/crawls/{id}/progress", "/crawls/{id}/stats"])
def test_what_is_asked_for_often_is_not(api: Served, client: httpx.Client, path: str) -> None:
    assert "content-encoding" not in sent(client, V1 + path.format(id=api.crawl.id), "gzip")[0]


def test_each_chunk_can_be_read_when_it_comes() -> None:
    """And the next one is asked for only then: nothing gathers."""
    taken: list[bytes] = []
    chunks = [b"first row\n", b"second row\n", b""]
    packed = _gzipped(taken.append(chunk) or chunk for chunk in chunks)
    reader = zlib.decompressobj(wbits=31)
    for count, chunk in enumerate(chunks, 1):
        assert reader.decompress(next(packed)) == chunk
        assert len(taken) == count
    assert reader.decompress(b"".join(packed)) == b""
    assert reader.eof
