"""Which URLs each tag needs, what is no tag, srcset by the standard, bounds, and hostile pages in linear time."""

import time

import pytest

from nephila.extract.requisites import REQUISITES_MAX, css_requisites, html_requisites, srcset_urls

TAGS: list[tuple[str, list[str]]] = [
    ("<img src=a.png>", ["a.png"]),
    ("<IMG SRC='a.png' srcset='b.png 1x, c.png 2x'>", ["a.png", "b.png", "c.png"]),
    ("<picture><source srcset=a.webp><img src=b.png></picture>", ["a.webp", "b.png"]),
    (
        "<video src=a.mp4 poster=b.jpg><source src=c.webm><track src=d.vtt></video>",
        ["a.mp4", "b.jpg", "c.webm", "d.vtt"],
    ),
    ("<audio src=a.ogg>", ["a.ogg"]),
    ("<input type=IMAGE src=a.png><input src=no.png><input type=text src=no.png>", ["a.png"]),
    ("<link rel=stylesheet href=a.css><link rel='alternate stylesheet' href=b.css>", ["a.css", "b.css"]),
    ("<link rel='shortcut icon' href=a.ico><link rel=apple-touch-icon href=b.png>", ["a.ico", "b.png"]),
    ("<link rel=mask-icon href=a.svg><link rel=manifest href=b.json>", ["a.svg", "b.json"]),
    ("<link rel=preload href=a.woff><link rel=modulepreload href=b.js>", ["a.woff", "b.js"]),
    ("<link rel=preload as=image imagesrcset='a.png 1x, b.png 2x'>", ["a.png", "b.png"]),
    ("<link rel=canonical href=no><link rel=next href=no><link rel=dns-prefetch href=no><link href=no>", []),
    ("<script src=a.js></script><script>'<img src=no.png>'</script>", ["a.js"]),
    ("<object data=a.svg></object><embed src=b.pdf>", ["a.svg", "b.pdf"]),
    (
        "<body background=a.png><table background=b.png><td background=c.png><p background=no>",
        ["a.png", "b.png", "c.png"],
    ),
    ("<svg><image href=a.png /><image xlink:href=b.png />", ["a.png", "b.png"]),
    ("<svg><use href='a.svg#x'/><use href='#y'/></svg>", ["a.svg#x"]),
    ("<svg><filter><feImage href=a.png /></filter></svg>", ["a.png"]),
    ("<p style='background: url(a.png)'><b STYLE=\"background: url('b.png')\">", ["a.png", "b.png"]),
    ("<p style='background: url(&quot;a.png&quot;)'>", ["a.png"]),
    ("<p style='color: red'><p styled=no>", []),
    ("<style>@import 'a.css'; p { background: url(b.png) }</style><style>p { color: red }</style>", ["a.css", "b.png"]),
    ("<style><!-- p { background: url(a.png) } --></style>", ["a.png"]),
    ("<noscript><img src=a.png></noscript><template><img src=b.png></template>", ["a.png", "b.png"]),
    ("<!-- <img src=no.png> --><textarea><img src=no.png></textarea><title><img src=no.png></title>", []),
    ("<iframe src=page><img src=no.png></iframe><a href=page><img src=a.png></a>", ["a.png"]),
    ("<img alt='>' src=a.png><img alt=\"<img src=no.png>\" src=b.png>", ["a.png", "b.png"]),
    ("<img src=a&amp;b.png>", ["a&b.png"]),
    (
        "<img src=' a.png\n'><img src=''><img src='#x'><img src='data:image/png,x'><img src='JavaScript:x'><img>",
        ["a.png"],
    ),
    ("<img src=a.png><img src=a.png><p style='background: url(a.png)'>", ["a.png"]),
    ("<img src=a.png", []),  # a tag that does not end is none
]


@pytest.mark.parametrize(("html", "needed"), TAGS)
def test_each_tag_needs_what_a_browser_loads_for_it(html: str, needed: list[str]) -> None:
    assert html_requisites(html.encode(), "utf-8") == needed


def test_queries_are_in_the_encoding_of_the_page() -> None:
    assert html_requisites("<img src='?é'>".encode("cp1252"), "windows-1252") == ["?%E9"]


SETS: list[tuple[str, list[str]]] = [
    ("", []),
    (" , ,", []),
    ("a.png", ["a.png"]),
    ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
    ("a.png,b.png", ["a.png,b.png"]),  # no space: one URL
    ("a.png, b.png", ["a.png", "b.png"]),
    ("a,b.png 1x", ["a,b.png"]),
    ("a.png,, b.png", ["a.png", "b.png"]),
    ("data:image/png;base64,AA== 1x, a.png 2x", ["data:image/png;base64,AA==", "a.png"]),
    ("a.png (1, 2) 3x, b.png", ["a.png", "b.png"]),
    ("a.png (1, b.png", ["a.png"]),
    ("\ta.png\n100w,\fb.png 200w", ["a.png", "b.png"]),
]


@pytest.mark.parametrize(("srcset", "urls"), SETS)
def test_a_srcset_is_read_by_the_algorithm_of_the_standard(srcset: str, urls: list[str]) -> None:
    assert list(srcset_urls(srcset)) == urls


def test_a_page_and_a_stylesheet_have_a_bounded_number() -> None:
    many = "".join(f"<img src={number}.png>" for number in range(REQUISITES_MAX + 10))
    assert len(html_requisites(many.encode())) == REQUISITES_MAX
    crowded = f"<img srcset='{', '.join(f'{number}.png 1x' for number in range(REQUISITES_MAX + 10))}'>"
    assert len(html_requisites(crowded.encode())) == REQUISITES_MAX
    style = "".join(f"url({number}.png)" for number in range(REQUISITES_MAX + 10))
    assert len(css_requisites(style)) == REQUISITES_MAX


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", '<img srcset="', '<p style="', "<style>", "<script>", "<!--", "<svg>", "<x style=a", '<img src="a" ',
     "<p style='url('>", "<link rel=icon href=", "a, ", "a(, "],
)  # fmt: skip
def test_hostile_pages_take_linear_time(piece: str) -> None:
    """As of stylesheets: eight times the bytes take some eight times as long, not 64 times."""

    def seconds(count: int) -> float:
        page, best = (piece * count).encode(), float("inf")
        for _ in range(3):
            began = time.process_time()
            html_requisites(page)
            sum(1 for _ in srcset_urls(piece * count))
            best = min(best, time.process_time() - began)
        return best

    assert seconds(80_000) < 24 * seconds(10_000) + 0.05
