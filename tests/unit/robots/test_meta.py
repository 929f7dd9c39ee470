"""Robots meta elements and X-Robots-Tag headers."""

import pytest

from nephila.robots.meta import RAW_CHARS_MAX, Directives, page_directives


@pytest.mark.requirement("RB-07")
@pytest.mark.parametrize(
    ("meta", "tags", "noindex", "nofollow"),
    [
        ([], [], False, False),
        (["index, follow"], [], False, False),
        (["noindex"], [], True, False),
        ([" NoIndex ,NOFOLLOW"], [], True, True),
        (["none"], [], True, True),
        (["follow", "nofollow"], [], False, True),
        ([], ["noindex"], True, False),
        ([], ["nofollow", "noindex"], True, True),
        ([], ["nephila: nofollow"], False, True),
        ([], ["NEPHILA:none"], True, True),
        ([], ["otherbot: none"], False, False),
        ([], ["otherbot: noindex, nofollow"], False, False),
        ([], ["otherbot: noindex, nephila: nofollow"], False, True),
        ([], ["noindex, otherbot: nofollow"], True, False),
        ([], ["unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"], False, True),
        ([], ["max-snippet: 20, noindex"], True, False),
        ([], ["unavailable_after: Wednesday, 25-Jun-30 15:00:00 GMT, noindex"], True, False),
        (["max-image-preview:large"], [], False, False),
        (["noindexing"], [], False, False),
        (["", ",,,"], [":"], False, False),
    ],
)
def test_the_strictest_counts(meta: list[str], tags: list[str], noindex: bool, nofollow: bool) -> None:
    directives = page_directives(meta, tags, "Nephila")
    assert (directives.noindex, directives.nofollow) == (noindex, nofollow)


def test_the_raw_values_are_kept_within_bounds() -> None:
    assert page_directives(["noindex"], ["a: b"], "x").raw == "noindex; a: b"
    assert page_directives([], [], "x") == Directives()
    assert len(page_directives(["x," * 1_000_000], [], "x").raw) == RAW_CHARS_MAX
