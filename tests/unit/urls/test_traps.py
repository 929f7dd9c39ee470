"""Static trap rules and the filter of endings."""

import pytest

from nephila.models import Refusal
from nephila.profiles import ScopeSettings
from nephila.urls.traps import Traps

TRAPS = Traps(ScopeSettings(path_segments_max=5, path_repeats_max=2, url_length_max=64))
ROOT = "https://a.example"


@pytest.mark.requirement("N-14")
def test_length() -> None:
    url = ROOT + "/" + "x" * (64 - len(ROOT) - 1)
    assert TRAPS.length(url) is None
    assert TRAPS.length(url + "x") == (Refusal.LENGTH, "65 characters, at most 64")


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("/", None),
        ("/a/b/c/d/e", None),
        ("/a/b/c/d/e/", None),
        ("/a/b/c/d/e/f", Refusal.PATH_SEGMENTS),
        ("/a/b/c/d/e/f/", Refusal.PATH_SEGMENTS),
        ("/a?b/c/d/e/f/g/h", None),
        ("/a/a", None),
        ("/a/b/a/c", None),
        ("/a/a/a", Refusal.PATH_REPEATS),
        ("/a/b/a/c/a", Refusal.PATH_REPEATS),
        ("/a/a?/a/a", None),
        ("/a/a/b/b", None),
        ("/a////", Refusal.PATH_REPEATS),
    ],
)
def test_paths_in_circles(path: str, refusal: Refusal | None) -> None:
    trapped = TRAPS.path(ROOT + path)
    assert (trapped and trapped[0]) == refusal


def test_details_say_what_was_too_much() -> None:
    assert TRAPS.path(ROOT + "/a/a/a") == (Refusal.PATH_REPEATS, "path segment 'a' comes 3 times, at most 2")
    assert TRAPS.path(ROOT + "/a/b/c/d/e/f") == (Refusal.PATH_SEGMENTS, "6 path segments, at most 5")


@pytest.mark.requirement("SC-03", "SC-07")
@pytest.mark.parametrize(
    ("path", "skipped"),
    [
        ("/x.pdf", True),
        ("/x.PDF", True),
        ("/x.jpg?y", True),
        ("/x.tar.gz", True),
        ("/x.pdf/y", False),
        ("/x.pdf/", False),
        ("/x?y=z.pdf", False),
        ("/x.html", False),
        ("/pdf", False),
        ("/.zip", True),
        ("/", False),
    ],
)
def test_endings(path: str, skipped: bool) -> None:
    trapped = TRAPS.extension("https://host.zip" + path)
    assert (trapped is not None) is skipped
    assert trapped is None or trapped[0] is Refusal.EXTENSION
    assert Traps(ScopeSettings(include_documents=True)).extension(ROOT + path) is None
