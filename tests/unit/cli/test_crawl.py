"""What `nephila crawl` calls a crawl: by its options, else as the crawl that it is like."""

import pytest

from nephila.cli.crawl import naming_of
from nephila.errors import UsageError
from nephila.frontier.store import UNNAMED, Naming

LIKE = Naming("Docs", ("nightly", "team=docs"))


@pytest.mark.parametrize(
    ("name", "labels", "usual", "naming"),
    [
        (None, [], UNNAMED, UNNAMED),
        (" A  b ", ["x", "team=docs"], UNNAMED, Naming("A b", ("team=docs", "x"))),
        (None, [], LIKE, LIKE),
        ("Other", ["team=web"], LIKE, Naming("Other", ("nightly", "team=web"))),
        ("", [], LIKE, Naming("", LIKE.labels)),
    ],
)
def test_naming(name: str | None, labels: list[str], usual: Naming, naming: Naming) -> None:
    assert naming_of(name, labels, usual) == naming


@pytest.mark.parametrize(
    ("name", "labels", "says"), [("x" * 101, [], "--name: a name has at most"), (None, ["a b"], "--label: 'a b' is no")]
)
def test_what_is_wrong_is_said_of_the_option(name: str | None, labels: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        naming_of(name, labels, UNNAMED)
