import pytest

from nephila.models import Reason
from nephila.urls.blocks import Blocks

BLOCKS = Blocks(
    domains=[("bad.example", "spam"), ("127.0.0.9", "")],
    patterns=[("*/private/*", "asked by its owner"), ("https://x.test/?", "")],
)


@pytest.mark.parametrize(
    ("url", "detail"),
    [
        ("https://bad.example/", "domain bad.example is blocked: spam"),
        ("http://a.b.bad.example:8080/x", "domain bad.example is blocked: spam"),
        ("http://127.0.0.9:81/", "domain 127.0.0.9 is blocked"),
        ("https://good.example/private/x", "pattern */private/* is blocked: asked by its owner"),
        ("https://x.test/y", "pattern https://x.test/? is blocked"),
        ("https://notbad.example/", None),
        ("https://bad.example.org/", None),
        ("https://example/", None),
        ("https://x.test/", None),
        ("https://good.example/?bad.example", None),
    ],
)
def test_what_is_blocked(url: str, detail: str | None) -> None:
    decision = BLOCKS.judge(url)
    assert decision.ok is (detail is None)
    assert (decision.detail or None) == detail
    assert decision.reason == (Reason.RULE if detail else "")


def test_without_rules_nobody_needs_to_ask() -> None:
    assert not Blocks()
    assert Blocks().judge("https://any.test/").ok
    assert Blocks(domains=[("a.test", "")]) and Blocks(patterns=[("*", "")])
