"""A robots.txt is tried through the API."""

from typing import Any

import pytest

from nephila.robots.rules import ROBOTS_BYTES_MAX
from tests.api.faced import Face
from tests.api.served import V1

TEXT = "User-agent: *\nDisallow: /private/\nCrawl-delay: 1000\nSitemap: https://a.test/map.xml\n"
PATH = f"{V1}/robots/trial"


def test_the_rule_that_decides_is_told(bare: Face) -> None:
    answer = bare.client.post(PATH, json={"text": TEXT, "urls": ["a.test/private/x", "https://a.test/"]})
    assert answer.status_code == 200
    found = answer.json()
    assert found["urls"][0] == {
        "url": "https://a.test/private/x",
        "allowed": False,
        "rule": "Disallow: /private/",
        "line": 2,
        "detail": "Disallow: /private/ (line 2)",
    }
    assert found["urls"][1]["allowed"] and found["urls"][1]["line"] is None
    known = (found["agent"], found["group"], found["group_lines"], found["crawl_delay_ms"], found["sitemaps"])
    assert known == ("Nephila", "*", [1], 1_000_000, ["https://a.test/map.xml"])
    assert "asks for 1000 s" in found["parked"] and found["cut"] is False


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"agent": "123"}, "agent"),
        ({"urls": ["mailto:x@a.test"]}, "urls"),
        ({"urls": []}, "urls"),
        ({"urls": ["a.test"] * 21}, "urls"),
        ({"text": "#" * (ROBOTS_BYTES_MAX + 1)}, "text"),
        ({"bogus": 1}, "bogus"),
    ],
)
def test_what_cannot_be_tried_names_its_field(bare: Face, changed: dict[str, Any], field: str) -> None:
    answer = bare.client.post(PATH, json={"text": TEXT, "urls": ["a.test"]} | changed)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"].startswith(field)
