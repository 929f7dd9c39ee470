"""When a handshake is listened to, and what is heard. That libcurl says so: tests/integration/test_fetcher.py."""

import pycurl
import pytest

from nephila.fetch import tls_sessions
from nephila.fetch.tls_sessions import LOOK_AFTER_MS, Listener, TlsSessions
from nephila.models import Handshake

NONE, FULL, RESUMED, UNKNOWN = Handshake
TEXT, HEADER, BODY = pycurl.INFOTYPE_TEXT, pycurl.INFOTYPE_HEADER_IN, pycurl.INFOTYPE_DATA_IN
HELLO = (TEXT, b"TLSv1.3 (OUT), TLS handshake, Client hello (1):\n")
CERTIFICATE = (TEXT, b"TLSv1.2 (IN), TLS handshake, Certificate (11):\n")
SIGNED = (TEXT, b"SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384 / x25519 / id-ecPublicKey\n")
UNSIGNED = (TEXT, b"SSL connection using TLSv1.2 / AES128-GCM-SHA256 / [blank] / UNDEF\n")


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ([], NONE),
        ([HELLO], NONE),
        ([HELLO, CERTIFICATE, SIGNED], FULL),
        ([HELLO, UNSIGNED], RESUMED),
        ([HELLO, CERTIFICATE, UNSIGNED], FULL),
        ([HELLO, SIGNED], FULL),
        ([HELLO, CERTIFICATE, SIGNED, HELLO, UNSIGNED], RESUMED),
        ([HELLO, UNSIGNED, HELLO, CERTIFICATE, SIGNED], FULL),
        ([HELLO, CERTIFICATE, HELLO, UNSIGNED], RESUMED),
        ([HELLO, UNSIGNED, HELLO], NONE),
        ([HELLO, CERTIFICATE, SIGNED, (HEADER, UNSIGNED[1]), (BODY, UNSIGNED[1])], FULL),
        ([HELLO, (BODY, CERTIFICATE[1]), UNSIGNED], RESUMED),
    ],
    ids=[
        "open connection",
        "handshake that broke off",
        "full",
        "resumed",
        "full, RSA encrypts the key",
        "full, without a word about certificates",
        "full with a proxy, then resumed",
        "resumed with a proxy, then full",
        "broken off, then resumed",
        "resumed, then broken off",
        "what a server sends is not libcurl's word",
        "nor does it undo a word",
    ],
)
def test_what_is_heard(said: list[tuple[int, bytes]], heard: Handshake) -> None:
    listener = Listener()
    for _ in range(2):
        for kind, text in said:
            listener.hear(kind, text)
        assert listener.heard is heard


@pytest.mark.parametrize(
    ("waited_ms", "presumed"), [(0.0, UNKNOWN), (LOOK_AFTER_MS, UNKNOWN), (LOOK_AFTER_MS + 1, NONE)]
)
def test_the_first_handshake_is_full_and_those_after_a_while_are_listened_to(
    waited_ms: float, presumed: Handshake
) -> None:
    sessions = TlsSessions()
    assert sessions.presume("https://a.test", 0.0) is FULL
    assert sessions.presume("https://a.test", waited_ms) is presumed
    assert sessions.presume("https://b.test", waited_ms) is FULL


def test_origins_are_forgotten_by_halves_and_then_new_ones_are_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_sessions, "ORIGINS_MAX", 20)
    sessions = TlsSessions()
    presumed = [sessions.presume(f"https://{number}.test", 0.0) for number in range(100)]
    assert presumed == [FULL] * 19 + [NONE] * 81, "it may have been asked before"
    assert len(sessions._asked) + len(sessions._asked_before) <= 20
    assert sessions.presume("https://99.test", 1.0) is UNKNOWN
