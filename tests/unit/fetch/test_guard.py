import json
from pathlib import Path

import pytest

from nephila.fetch.guard import judge_address, judge_url
from nephila.models import Reason

SSRF = Path(__file__).parents[4] / "shared" / "conformance" / "ssrf.json"
CASES = json.loads(SSRF.read_text()) if SSRF.exists() else {"blocked": [], "allowed": []}
LITERALS = [
    case["url"] for case in CASES["blocked"] if case["kind"] not in ("name", "port") and case["expected"] == "blocked"
]


@pytest.mark.skipif(not SSRF.exists(), reason="needs ../shared/conformance")
@pytest.mark.parametrize("url", LITERALS)
def test_conformance_blocks(url: str) -> None:
    decision = judge_url(url)
    assert (decision.ok, decision.reason) == (False, Reason.PRIVATE_ADDRESS)
    assert decision.detail


@pytest.mark.skipif(not SSRF.exists(), reason="needs ../shared/conformance")
@pytest.mark.parametrize("url", [case["url"] for case in CASES["allowed"]])
def test_conformance_allows(url: str) -> None:
    assert judge_url(url).ok


@pytest.mark.parametrize(
    ("ip", "label"),
    [
        ("0.0.0.0", "unspecified"),
        ("10.255.0.1", "private"),
        ("100.64.0.0", "carrier-grade nat"),
        ("100.100.100.200", "metadata"),
        ("127.8.8.8", "loopback"),
        ("168.63.129.16", "metadata"),
        ("169.254.169.254", "link-local"),
        ("192.0.2.55", "documentation"),
        ("198.19.255.255", "benchmarking"),
        ("239.1.1.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::8.8.8.8", "ipv4-compatible"),
        ("::ffff:8.8.8.8", "ipv4-mapped"),
        ("64:ff9b::10.0.0.1", "nat64"),
        ("2001:0:1::1", "teredo"),
        ("2002:a00:1::", "6to4"),
        ("2001:db8::", "documentation"),
        ("3fff::1", "documentation"),
        ("fd00::1", "private"),
        ("fe80::1%eth0", "link-local"),
        ("ff02::1", "multicast"),
        ("5f00::1", "reserved"),
        ("4000::1", "reserved"),
    ],
)
def test_refused_addresses_name_their_class(ip: str, label: str) -> None:
    assert judge_address(ip).detail == f"{ip} is {label}"


@pytest.mark.parametrize("ip", ["8.8.8.8", "1.1.1.1", "192.0.1.1", "172.32.0.1", "2606:4700::1", "2a00:1450::1"])
def test_public_addresses(ip: str) -> None:
    assert judge_address(ip).ok


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f000001", "[::1]", "1.2.3.4:80", "1.2.3.4\0"])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert not judge_address(text).ok


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost./",
        "https://A.LocalHost/",
        "http://ｌocalhost/",
        "http://１２７。0.0.1/",
        "http://%EF%BC%91%EF%BC%92%EF%BC%97.1/",
        "http://\ud800/",
        "",
        "http://",
    ],
)
def test_refused_urls(url: str) -> None:
    assert not judge_url(url).ok


@pytest.mark.parametrize(
    "url",
    ["https://example.com/", "http://localhost.example.com/", "http://1.example/", "http://a1/", "http://xn--d4f.b/"],
)
def test_for_names_dns_decides(url: str) -> None:
    assert judge_url(url).ok
