"""Which elements are open inside drawings, formulas and templates: the standard's stack of open elements (13.2.6).

What a tag means depends on it there: `<title/>` of a drawing ends at once, `<title>` of a page hides all up to its end
tag. Only names are kept, and where the last of each kind stands, so every tag takes the same time however deep it is.

Not kept: which formatting elements would be opened again (`<p><b></p>`), and the insertion modes of tables and forms
beyond what their tags close (docs/decisions/0012).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from nephila.extract.grammar import attribute_matches, each_attribute

DEPTH_MAX = 10_000  # what is opened deeper is not kept
ITEM_DEPTH_MAX = 50  # of blocks between an item of a list and the next one

_SVG, _MATH = "svg:", "math:"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_TABLE_PARTS = _names("caption col colgroup tbody td tfoot th thead tr")
# Start tags that never stand in a drawing: they end it. `font` does with one of three attributes.
_BREAKOUT = _HEADINGS | _names(
    "b big blockquote body br center code dd div dl dt em embed head hr i img li listing menu meta nobr ol p pre ruby s"
    " small span strong strike sub sup table tt u ul var"
)
_FONT = frozenset(("color", "face", "size"))

_VOID = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
)
_NEVER_OPENED = _names("body head html frameset")
_CLOSING_P = _HEADINGS | _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form"
    " header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul xmp"
)
_FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
_ENDED_IN_SCOPE = _names(
    "address applet article aside blockquote button center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form header hgroup li listing main marquee menu nav object ol p pre search section summary ul"
)

_SIBLINGS = {"li": ("li",), "dd": ("dd", "dt"), "dt": ("dd", "dt")}
_BARRIERS = {"p": ("button",), "li": ("ol", "ul")}  # of their end tags, beside those of all
_ROWS_IN = ("tbody", "thead", "tfoot", "table", "template")
_AROUND = {"td": ("tr", *_ROWS_IN), "th": ("tr", *_ROWS_IN), "tr": _ROWS_IN}
_REACHING_OUT = _TABLE_PARTS | {"table", "template"}  # their end tags look past elements that hold others back
_SHADOW_ROOT = "template of a shadow root"

_MATH_TEXT = frozenset(f"{_MATH}{name}" for name in ("mi", "mo", "mn", "ms", "mtext"))
_ANNOTATION, _ANNOTATED_HTML = f"{_MATH}annotation-xml", f"{_MATH}annotation-xml of HTML"
_HTML_POINTS = frozenset((f"{_SVG}foreignobject", f"{_SVG}desc", f"{_SVG}title", _ANNOTATED_HTML))

_SCOPES = (
    _MATH_TEXT
    | _HTML_POINTS
    | _names("applet caption marquee object table td template th")
    | {_ANNOTATION, _SHADOW_ROOT}
)
_SPECIAL = (
    _SCOPES
    | (_ENDED_IN_SCOPE - {"dialog"})
    | _HEADINGS
    | _TABLE_PARTS
    | _names("iframe noembed noframes noscript plaintext script select style textarea title xmp")
)

_is_plainly_closed = re.compile(r'(?: [a-zA-Z0-9:_-]++="[^"]*+")*+ ?/').fullmatch


def is_self_closing(attributes: str) -> bool:
    """Whether what stands between the name and the end of a tag says `/>`; in `a=b/>` the slash is of the value."""
    if not attributes.endswith("/"):
        return False
    if _is_plainly_closed(attributes):
        return True
    end = 0
    for attribute in attribute_matches(attributes):
        end = attribute.end()
    return end < len(attributes)


def is_shadow_root(attributes: str) -> bool:
    """Whether these are the attributes of a template that a browser shows as the content of its parent."""
    for name, double, single, bare in each_attribute(attributes):
        if name.lower() == "shadowrootmode":
            return (double or single or bare).lower() in ("open", "closed")
    return False


class OpenElements:
    """The elements that are open from the first drawing, formula or template on, the innermost last.

    Falsy while there are none. `ends_outside` is asked whether a tag ends an element that was open before the first.
    """

    __slots__ = ("_at", "_ends_outside", "_html", "_names", "_scopes", "_special")

    def __init__(self, ends_outside: Callable[[str], bool]) -> None:
        self._ends_outside = ends_outside
        self._names: list[str] = []  # an empty name: ended, though elements inside it are still open
        self._at: defaultdict[str, list[int]] = defaultdict(list)  # name -> where it stands in _names
        self._html: list[int] = []  # where elements of HTML stand; so below
        self._scopes: list[int] = []
        self._special: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._names)

    @property
    def in_foreign(self) -> bool:
        """Whether the innermost element is none of HTML: there `<![CDATA[` begins text."""
        return bool(self._names) and ":" in self._names[-1]

    @property
    def in_template(self) -> bool:
        """Whether nobody sees what is here."""
        return bool(self._at["template"])

    @property
    def hide_text(self) -> bool:
        """Whether text here is none that a reader sees."""
        at = self._at
        return bool(at["template"] or at["svg:style"] or at["svg:script"] or at["svg:title"])

    def start(self, name: str, attributes: str) -> bool:
        """A start tag; whether it is one of HTML. After one that ended all, it has yet to be read outside."""
        if not self._reads_as_html(name):
            if not _breaks_out(name, attributes):
                self._start_foreign(name, attributes)
                return False
            self._leave_foreign()
            if not self._names:
                return True
        self._start_html(name, attributes)
        return True

    def end(self, name: str) -> None:
        """An end tag. Where it ended an element outside, nothing is open any more."""
        if self.in_foreign:
            if name not in ("p", "br"):
                return self._end_foreign(name)
            self._leave_foreign()
        if self._names:
            self.end_html(name)
        return None

    # --- drawings and formulas

    def _reads_as_html(self, name: str) -> bool:
        if not self.in_foreign:
            return True
        inner = self._names[-1]
        if inner in _MATH_TEXT:
            return name not in ("mglyph", "malignmark")
        return inner in _HTML_POINTS or (inner == _ANNOTATION and name == "svg")

    def _leave_foreign(self) -> None:
        while self.in_foreign and self._names[-1] not in _HTML_POINTS and self._names[-1] not in _MATH_TEXT:
            self._pop()

    def _start_foreign(self, name: str, attributes: str) -> None:
        if is_self_closing(attributes):
            return
        space = _SVG if self._names[-1].startswith(_SVG) else _MATH
        full = f"{space}{name}"
        self._push(_ANNOTATED_HTML if full == _ANNOTATION and _has_html(attributes) else full)

    def _end_foreign(self, name: str) -> None:
        html = self._last(self._html)
        at = max(self._last(self._at[_SVG + name]), self._last(self._at[_MATH + name]))
        if name == "annotation-xml":
            at = max(at, self._last(self._at[_ANNOTATED_HTML]))
        if at > html:
            self._cut(at)
        elif html >= 0:
            self.end_html(name)
        elif (name in _REACHING_OUT or not self._special) and self._ends_outside(f"/{name}"):
            self._cut(0)

    # --- HTML

    def _start_html(self, name: str, attributes: str) -> None:
        if name in ("svg", "math"):
            if not is_self_closing(attributes):
                self._push(f"{name}:{name}")
        elif name == "template":
            is_shown = not self.in_template and is_shadow_root(attributes)
            self._push(_SHADOW_ROOT if is_shown else name)
        elif name in _TABLE_PARTS:
            self.start_table_part(name)
        else:
            self.start_html(name)

    def start_html(self, name: str) -> None:
        """The start tag of an element that is no drawing, formula, template nor part of a table."""
        if name in _CLOSING_P:
            self._close_before(name)
        elif name in ("a", "nobr", "button") and self._last(self._at[name]) > self._last(self._scopes):
            self.end_html(name)
        elif name in ("option", "optgroup") and self._names[-1:] == ["option"]:
            self._pop()
        if name not in _VOID and name not in _NEVER_OPENED:
            self._push(name)

    def _close_before(self, name: str) -> None:
        """Close what cannot stay open around an element that begins here: a paragraph, an item of the same list."""
        if (siblings := _SIBLINGS.get(name)) is not None:
            for at in reversed(self._special[-ITEM_DEPTH_MAX:]):
                if self._names[at] in siblings:
                    self._cut(at)
                    break
                if self._names[at] not in ("address", "div", "p"):
                    break
        at = self._last(self._at["p"])
        if at > max(self._last(self._scopes), self._last(self._at["button"])):
            self._cut(at)
        if name in _HEADINGS and self._names and self._names[-1] in _HEADINGS:
            self._pop()

    def end_html(self, name: str) -> bool:
        """The end tag of an element of HTML; whether it ended one."""
        if name in _TABLE_PARTS or name == "table":
            return self._end_table_part(name)
        at, barrier = self._last(self._at[name]), self._last(self._special)
        if name == "template":
            at, barrier = max(at, self._last(self._at[_SHADOW_ROOT])), 0
        elif name in _HEADINGS:
            at, barrier = max(self._last(self._at[heading]) for heading in _HEADINGS), self._last(self._scopes)
        elif name in _BARRIERS:
            barrier = max(self._last(self._scopes), *(self._last(self._at[other]) for other in _BARRIERS[name]))
        elif name in _ENDED_IN_SCOPE or name in _FORMATTING:
            barrier = self._last(self._scopes)
        if at < 0 or at < barrier:
            return False
        if name == "form":
            self._forget(at)
        elif name in _FORMATTING and self._last(self._special) > at:
            # What is left of the adoption agency without nodes: the element is over, the blocks inside it stay open.
            self._cut(self._special[-1] + 1)
            self._forget(at)
        else:
            self._cut(at)
        return name != "form"

    # --- tables

    def start_table_part(self, name: str) -> bool:
        """The start tag of a part of a table; whether there is a table that it is a part of."""
        at = self._table()
        if at < 0:
            is_outside = self._ends_outside(name)
            if is_outside:
                self._cut(0)
            return is_outside
        if name != "col":
            self._cut(max((self._last(self._at[around]) for around in _AROUND.get(name, ())), default=at) + 1)
            self._push(name)
        return True

    def _end_table_part(self, name: str) -> bool:
        at, table = self._last(self._at[name]), self._table()
        if at >= 0 and at >= table:
            self._cut(at)
            return True
        if table < 0 and self._ends_outside(f"/{name}"):
            self._cut(0)
            return True
        return False

    def _table(self) -> int:
        """Where the table or template stands that parts of tables belong to here."""
        return max(self._last(self._at[name]) for name in ("table", "template", _SHADOW_ROOT))

    # --- the stack

    @staticmethod
    def _last(places: list[int]) -> int:
        return places[-1] if places else -1

    def _push(self, name: str) -> None:
        at = len(self._names)
        if at >= DEPTH_MAX:
            return
        self._names.append(name)
        self._at[name].append(at)
        if ":" not in name:
            self._html.append(at)
        if name in _SPECIAL:
            self._special.append(at)
            if name in _SCOPES:
                self._scopes.append(at)

    def _pop(self) -> None:
        name = self._names.pop()
        at = len(self._names)
        if name:
            self._at[name].pop()
        for places in (self._html, self._special, self._scopes):
            if places and places[-1] == at:
                places.pop()

    def _cut(self, length: int) -> None:
        """Close all but the first elements."""
        while len(self._names) > length or (self._names and not self._names[-1]):
            self._pop()

    def _forget(self, at: int) -> None:
        """End an element, but none of those inside it."""
        self._at[self._names[at]].pop()
        self._names[at] = ""
        self._cut(len(self._names))


class Surroundings:
    """What is open around drawings, formulas and templates. Found out only when one of their tags may end it."""

    def __init__(self, tags_between: Callable[[int, int], Iterable[tuple[str, str]]]) -> None:
        """`tags_between` two places of the page: of each tag a slash or nothing, and its name in small letters."""
        self._tags_between = tags_between
        self._unread: list[tuple[int, int]] = []
        self._elements = OpenElements(lambda tag: False)

    def add(self, start: int, end: int) -> None:
        """HTML, without drawings, formulas and templates, stands between these places."""
        self._unread.append((start, end))

    def ends(self, tag: str) -> bool:
        """Whether this tag, `/name` or a part of a table, ends an element that is open here; then it is closed."""
        elements = self._elements
        for start, end in self._unread:
            for slash, name in self._tags_between(start, end):
                if slash:
                    elements.end_html(name)
                elif name in _TABLE_PARTS:
                    elements.start_table_part(name)
                else:
                    elements.start_html(name)
        self._unread.clear()
        return elements.end_html(tag[1:]) if tag.startswith("/") else elements.start_table_part(tag)


def _breaks_out(name: str, attributes: str) -> bool:
    if name == "font":
        return not _FONT.isdisjoint(found[0].lower() for found in each_attribute(attributes))
    return name in _BREAKOUT


def _has_html(attributes: str) -> bool:
    for name, double, single, bare in each_attribute(attributes):
        if name.lower() == "encoding":
            return (double or single or bare).lower() in ("text/html", "application/xhtml+xml")
    return False
