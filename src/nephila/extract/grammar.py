"""How HTML is written: pieces of regular expressions, for bytes or text, that read it as the standard's tokenizer does.

Quoted values, comments, scripts, raw text and broken tags end where they end in a browser (13.2.5). No piece tries
anything twice (atomic groups, possessive repetition), so whatever is made of them takes linear time.
"""

import re
import sys

SPACE = r"\t\n\f\r "
# `re` reads possessive groups wrong before 3.11.5 (Debian 12 has 3.11.2); atomic groups mean the same and take a fifth
# longer.
_POSSESSIVE_GROUPS = sys.version_info >= (3, 11, 5)


def tag_name(*names: str) -> str:
    """One of these names of a tag, in any case. Spelled out: with IGNORECASE `re` does not look for the first byte."""
    return f"(?:{'|'.join(map(in_any_case, names))})(?=[{SPACE}/>])"


def in_any_case(name: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in name)


def many(one: str) -> str:
    """As many of these as stand in a row, never fewer because what follows does not match."""
    return f"(?:{one})*+" if _POSSESSIVE_GROUPS else f"(?>(?:{one})*)"


def attributes(value: str, name: str = "") -> str:
    """All attributes of a tag, whose values are written so; `name` is a look at how the name of each begins."""
    one = rf"{name}[^{SPACE}/>][^{SPACE}/>=]*+(?>(?:[{SPACE}]*+=[{SPACE}]*+(?:{value}))?)[{SPACE}/]*+"
    return rf"[{SPACE}/]*+{many(one)}"


# A quoted value that never ends takes all that is left with it.
_VALUE = rf'"[^"]*+(?:"|\Z)|\'[^\']*+(?:\'|\Z)|(?!["\'])[^{SPACE}>]*+'
ATTRIBUTES = attributes(_VALUE)


def attributes_but(*names: str) -> str:
    """All attributes of a tag that has none whose name begins so."""
    return attributes(_VALUE, f"(?!{'|'.join(map(in_any_case, names))})")


# From inside a name to the end of its tag.
REST = rf"[^{SPACE}/>]*+{ATTRIBUTES}>"

# What follows the `<` of a comment, and of what the standard reads as one.
COMMENT = rf"!--(?:-?>|{many('[^-]++|-(?!-!?>)')}(?:--!?>|\Z))"
BOGUS_COMMENT = r"[!?][^>]*+(?:>|\Z)|/(?:>|[^a-zA-Z>][^>]*+(?:>|\Z))"


def raw_text(name: str) -> str:
    """The content of an element in which nothing is a tag but its own end."""
    return many(rf"[^<]++|<(?!/{tag_name(name)})")


def raw_element(name: str) -> str:
    """From the name of such an element up to its end tag."""
    return f"{tag_name(name)}{REST}{raw_text(name)}"


def script() -> str:
    """Raw text, but after `<!--` another `<script` takes the next end tag for itself (13.2.5.17 to 13.2.5.31)."""
    name = tag_name("script")
    inner = many(rf"[^<-]++|-(?!->)|<(?!/{name})") + f"(?>(?:</{name})?)"
    comment = many(rf"[^<-]++|-(?!->)|<(?!/?{name})|<{name}{inner}") + "(?>(?:-->)?)"
    return f"{name}{REST}" + many(rf"[^<]++|<(?!/{name}|!--)|<!{comment}")


# Elements in which nothing is a tag but their own end; `script` is one of a kind.
RAW = ("iframe", "noembed", "noframes", "style", "textarea", "title", "xmp")
SPECIAL_START = ("math", "plaintext", "script", "svg", "template", *RAW)
ANY_TAG = rf"(?!{tag_name(*SPECIAL_START)})[a-zA-Z]{REST}"
HIDDEN = "|".join((COMMENT, script(), *map(raw_element, RAW), rf"{tag_name('plaintext')}{REST}(?s:.*+)"))
NO_TAG = rf"{BOGUS_COMMENT}|(?![a-zA-Z/!?])"


def template() -> str:
    """A template without drawings, formulas, shadow roots and other templates."""
    name = tag_name("template")
    content = many(rf"[^<]++|<(?:{ANY_TAG}|/(?!{name})[a-zA-Z]{REST}|{HIDDEN}|{NO_TAG})")
    return rf"{name}{attributes_but('shadowrootmode')}>{content}(?=</{name}|\Z)"


def drawing() -> str:
    """A drawing that is nothing but shapes and text, as icons and diagrams are: no links, nothing of HTML."""
    attributes = many(rf"[{SPACE}]++[a-zA-Z0-9:_-]++=(?>\"[^\"]*+\"|'[^']*+')") + f"[{SPACE}]*+"
    title = tag_name("title")
    inner = f"/?{tag_name(*_SHAPES)}{attributes}/?>|{title}{attributes}(?>/>|>[^<]*+</{title}>)|{COMMENT}"
    return f"{tag_name('svg')}{attributes}>{many(f'[^<]++|<(?:{inner})')}</{tag_name('svg')}>"


_SHAPES = (
    *("path", "g", "circle", "rect", "line", "polyline", "polygon", "ellipse", "text", "tspan", "use", "defs", "stop"),
    *("symbol", "lineargradient", "radialgradient", "clippath", "mask", "marker", "pattern"),
)

_ATTRIBUTE = re.compile(
    rf"([^{SPACE}/>][^{SPACE}/>=]*+)"
    rf"(?:[{SPACE}]*+=[{SPACE}]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^{SPACE}>]*+)))?"
)
each_attribute = _ATTRIBUTE.findall
"""Of the text between name and end of a tag: (name, value in double quotes, in single ones, in none) of each."""
attribute_matches = _ATTRIBUTE.finditer
