"""What the trees of two parsers say of a page: lexbor's and turbohtml's. Only where both agree is one of them right."""

from collections.abc import Iterator

import turbohtml
from selectolax.lexbor import LexborHTMLParser, LexborNode

SPACE = "\t\n\f\r "
HTML, SVG, MATH = "html", "svg", "math"
_ROOTS = {"svg": SVG, "math": MATH}
_SPACES = {"HTML": HTML, "SVG": SVG, "MATHML": MATH}

Element = tuple[str, str, dict[str, str], str]  # namespace, name, attributes, text
Facts = tuple[frozenset[str], str | None]  # links, title


def lexbor(html: str) -> Facts:
    root = LexborHTMLParser(html).root
    return facts(() if root is None else _in_lexbor(root, HTML))


def turbo(html: str) -> Facts:
    return facts(_in_turbo(turbohtml.parse(html)))


def facts(elements: Iterator[Element] | tuple[()]) -> Facts:
    """Links of any kind, but not to the page itself, and the first title that says something."""
    links, title = set(), None
    for space, name, attributes, text in elements:
        if name == "a" and space != HTML:
            links.add(attributes.get("href", attributes.get("xlink:href", "")))
        elif space == HTML and name in ("a", "area"):
            links.add(attributes.get("href", ""))
        elif space == HTML and name == "iframe":
            links.add(attributes.get("src", ""))
        elif space == HTML and name == "link" and attributes.get("rel") == "canonical":
            links.add(attributes.get("href", ""))
        elif space == HTML and name == "title":
            title = title or " ".join(text.split()) or None
    return frozenset(link.strip(SPACE) for link in links) - {""}, title


def _in_turbo(node: "turbohtml.Node") -> Iterator[Element]:
    if isinstance(node, turbohtml.Element):
        space, name = _SPACES[node.namespace.name], node.tag.lower()
        if (space, name) == (HTML, "template"):
            return
        attributes = {key: " ".join(said) if isinstance(said, list) else said or "" for key, said in node.attrs.items()}
        yield space, name, attributes, node.text or ""
    for child in node.children:
        yield from _in_turbo(child)


def _in_lexbor(node: LexborNode, space: str) -> Iterator[Element]:
    """`space`: how elements are read where the node stands. lexbor's Python face does not tell the namespace."""
    name, attributes = (node.tag or "").lower(), {key: said or "" for key, said in node.attributes.items()}
    if (space, name) == (HTML, "template"):
        return
    own = _ROOTS.get(name, space) if space == HTML else space
    yield own, name, attributes, node.text()
    for child in node.iter(include_text=False):
        yield from _in_lexbor(child, _inside(own, name, attributes, (child.tag or "").lower()))


def _inside(space: str, name: str, attributes: dict[str, str], child: str) -> str:
    if space == SVG:
        return HTML if name in ("foreignobject", "desc", "title") else SVG
    if space == MATH and name in ("mi", "mo", "mn", "ms", "mtext"):
        return MATH if child in ("mglyph", "malignmark") else HTML
    if space == MATH and name == "annotation-xml":
        shown = attributes.get("encoding", "").lower() in ("text/html", "application/xhtml+xml")
        return HTML if shown or child == "svg" else MATH
    return space
