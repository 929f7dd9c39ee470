"""Politeness keys, origins, partitions and keys of URLs."""

import pytest

from nephila.models import PARTITIONS
from nephila.urls.identity import host_of, hostname_of, name_and_type, origin_of, partition_of, politeness_key, url_key


@pytest.mark.requirement("K05", "K07")
@pytest.mark.parametrize(
    ("hostname", "key"),
    [
        ("example.com", "example.com"),
        ("www.example.com", "example.com"),
        ("www.www.example.com", "www.example.com"),
        ("www.com", "www.com"),
        ("www.com.", "www.com."),
        ("www.localhost", "www.localhost"),
        ("www..com", "www..com"),
        ("wwwx.example.com", "wwwx.example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ],
)
def test_politeness_key_drops_one_www_where_a_dot_remains(hostname: str, key: str) -> None:
    assert politeness_key(hostname) == key


@pytest.mark.requirement("K07")
@pytest.mark.parametrize(
    ("url", "host", "hostname", "origin"),
    [
        ("http://example.com/", "example.com", "example.com", "http://example.com"),
        ("https://www.example.com:8443/a", "example.com", "www.example.com", "https://www.example.com:8443"),
        ("http://[::1]:8080/x", "[::1]", "[::1]", "http://[::1]:8080"),
        ("http://[2001:db8::1]/", "[2001:db8::1]", "[2001:db8::1]", "http://[2001:db8::1]"),
        ("https://u:p@www.example.com/a@b:9/c", "example.com", "www.example.com", "https://www.example.com"),
        ("http://127.0.0.1:81/?a=http://b/", "127.0.0.1", "127.0.0.1", "http://127.0.0.1:81"),
        ("http://s/", "s", "s", "http://s"),
    ],
)
def test_parts_of_a_url(url: str, host: str, hostname: str, origin: str) -> None:
    assert (host_of(url), hostname_of(url), origin_of(url)) == (host, hostname, origin)


def test_partitions_are_fixed_for_ever() -> None:
    assert [partition_of(key) for key in ("example.com", "example.org", "127.0.0.1")] == [102, 181, 140]
    assert {partition_of(f"host{n}.example") for n in range(5000)} == set(range(PARTITIONS))


def test_url_keys_are_fixed_for_ever() -> None:
    assert url_key("https://example.com/").hex() == "3259687d649f8e86106dd28ba70f1016"
    assert len(url_key("https://example.com/a")) == 16


@pytest.mark.requirement("N-08", "K03")
@pytest.mark.parametrize(
    ("url", "name", "http_type"),
    [
        ("https://example.com/Path/a?Q=b/", "EXAMPLE.COM/Path/a?Q=b/", "HTTPS://"),
        ("http://www.example.com:8080/", "WWW.EXAMPLE.COM:8080", "HTTP://"),
        ("http://User@example.com/x", "User@EXAMPLE.COM/x", "HTTP://"),
        ("http://[::a]/x", "[::A]/x", "HTTP://"),
        ("https://example.com/?q", "EXAMPLE.COM/?q", "HTTPS://"),
    ],
)
def test_the_name_and_type_of_document_001(url: str, name: str, http_type: str) -> None:
    assert name_and_type(url) == (name, http_type)
