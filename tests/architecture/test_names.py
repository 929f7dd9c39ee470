"""Names: one class name has one meaning, and docstrings and comments name only what exists."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, SRC, Module, members, names_in_use, product

# What is taken for the name of a thing: all that stands in backticks and looks like a name, and words that are
# written as only names are: CamelCase, snake_case, CONSTANT_CASE.
NAME = re.compile(
    r"`(?P<quoted>[A-Za-z_][\w.]*)(?:\(\))?`"
    r"|\b(?P<plain>[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)
MEMBER = re.compile(r"\b([A-Z]\w*[a-z]\w*)\.(\w+)")
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
PATH = re.compile(r"\b(?:[\w-]+/)*[\w-]+\.(?:py|sql|md|toml)\b")
# Names of libraries, of the system and of units, and examples.
OF_OTHERS = {
    *("ARES_AI_NOSORT", "KiB", "M_MMAP_THRESHOLD", "M_TRIM_THRESHOLD", "OpenAPI", "SSL_CERT_FILE", "http_proxy"),
    *("MEMORY_BYTES", "NEPHILA_X"),
}


def stale_names(text: str) -> Iterator[str]:
    """Names in a docstring or comment that nothing in the package has."""
    for match in NAME.finditer(text):
        parts = (match["quoted"] or match["plain"]).split(".")
        if not PATH.fullmatch(match["quoted"] or ""):
            yield from (part for part in parts if part and part not in names_in_use() | OF_OTHERS)


def stale_members(text: str) -> Iterator[str]:
    """`Class.member` of a class of the package that has no such member."""
    known = members()
    for owner, name in MEMBER.findall(text):
        if owner in known and name not in known[owner] | NAMED_TUPLE:
            yield f"{owner}.{name}"


def stale_paths(module: Module, text: str) -> Iterator[str]:
    """Files that neither the repository has, nor, of a bare name, any folder of the package, nor Python."""
    for name in PATH.findall(text):
        here = any((place / name).exists() for place in (ROOT, SRC, module.path.parent))
        if not here and not any(SRC.rglob(name)) and name.removesuffix(".py") not in sys.stdlib_module_names:
            yield name


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module in product():
        for name in module.classes():
            places[name].append(module.place)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize("module", product(), ids=lambda module: module.place)
def test_docstrings_and_comments_name_what_exists(module: Module) -> None:
    for text in module.prose():
        assert [*stale_names(text), *stale_members(text), *stale_paths(module, text)] == [], text


@pytest.mark.parametrize(
    "text",
    [
        "a `vanished` word",
        "`Worker.vanished` of a known class",
        "UrlState.VANISHED, without backticks",
        "a VanishedClass in prose",
        "vanished_function in prose",
        "VANISHED_MAX in prose",
        "policy/vanished.py and `vanished.py`",
    ],
)
def test_a_name_that_does_not_exist_is_found(text: str) -> None:
    assert [*stale_names(text), *stale_members(text), *stale_paths(product()[0], text)] != []
