"""Robots meta and X-Robots-Tag."""

import pytest

from nephila.extract.directives import Directives, directives_of

BOTH = Directives(noindex=True, nofollow=True)
NOINDEX = Directives(noindex=True)
NOFOLLOW = Directives(nofollow=True)
NEITHER = Directives()


@pytest.mark.requirement("RB-07")
@pytest.mark.parametrize(
    ("meta", "tags", "directives"),
    [
        ([], [], NEITHER),
        (["index, follow"], [], NEITHER),
        (["all"], ["all"], NEITHER),
        (["NoIndex"], [], NOINDEX),
        (["x,nofollow "], [], NOFOLLOW),
        (["none"], [], BOTH),
        (["noindex"], ["nofollow"], BOTH),
        ([], ["noindex, nofollow"], BOTH),
        ([], ["googlebot: noindex"], NEITHER),
        ([], ["Nephila: noindex"], NOINDEX),
        ([], ["googlebot: noindex, nofollow"], NEITHER),
        ([], ["googlebot: noindex, nephila: nofollow"], NOFOLLOW),
        ([], ["nofollow, otherbot: noindex"], NOFOLLOW),
        ([], ["unavailable_after: Wed, 3 Dec 2025 13:09:53 PST, nofollow"], NOFOLLOW),
        ([], ["max-snippet: 20, noindex"], NOINDEX),
        (["nofollowing, index"], [], NEITHER),
    ],
)
def test_directives(meta: list[str], tags: list[str], directives: Directives) -> None:
    assert directives_of(meta, tags) == directives
