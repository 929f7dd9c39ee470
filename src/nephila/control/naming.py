"""Names and labels of crawls: what is one, and how they change. Pure.

A label is a word (`nightly`) or a key with a value (`team=docs`). A crawl has each key once: a new value takes the
place of the old one. Neither names nor labels are part of what makes a crawl the same one.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from nephila.errors import UsageError
from nephila.frontier.store import Naming

NAME_CHARS_MAX = 100
LABEL_CHARS_MAX = 60
LABELS_MAX = 20
SHOWN_CHARS = 40  # of what is refused
# Letters and digits of every script, and what needs no quoting in a shell or an address.
LABEL = re.compile(r"[\w./:@+-]+(=[\w./:@+-]+)?")
# Control characters, line ends, halves of pairs, and what turns the direction of the text around.
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def checked_name(text: str) -> str:
    """The name as it is kept: one line, each blank once. Empty: no name."""
    if unshown := UNSHOWN.search(text.strip()):
        raise UsageError(f"a name is one line of text: it cannot have the character U+{ord(unshown.group()):04X}")
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if len(name) > NAME_CHARS_MAX:
        raise UsageError(f"a name has at most {NAME_CHARS_MAX} characters: this one has {len(name)}")
    if name and not any(unicodedata.category(char)[0] in "LNPS" for char in name):
        raise UsageError("a name needs a character that can be seen")
    return name


def checked_label(text: str) -> str:
    label = unicodedata.normalize("NFC", text.strip())
    if len(label) > LABEL_CHARS_MAX:
        raise UsageError(f"a label has at most {LABEL_CHARS_MAX} characters: {label[:SHOWN_CHARS]!r}... is longer")
    if not LABEL.fullmatch(label):
        raise UsageError(
            f"{label!r} is no label: give a word like nightly, or key=value like team=docs, "
            "of letters, digits and . _ - / : @ +"
        )
    return label


def checked_labels(texts: Iterable[str]) -> tuple[str, ...]:
    """The labels as they are kept: sorted by key, each once, and each key with one value."""
    labels = sorted({checked_label(text) for text in texts}, key=lambda label: (key_of(label), label))
    if len(labels) > LABELS_MAX:
        raise UsageError(f"a crawl has at most {LABELS_MAX} labels: these are {len(labels)}")
    for before, label in pairwise(labels):
        if key_of(before) == key_of(label):
            raise UsageError(f"the labels {before} and {label} have the same key: give one of them")
    return tuple(labels)


def checked_naming(name: str, labels: Iterable[str]) -> Naming:
    return Naming(checked_name(name), checked_labels(labels))


def key_of(label: str) -> str:
    return label.partition("=")[0]


def with_labels(labels: Sequence[str], added: Iterable[str], removed: Iterable[str] = ()) -> tuple[str, ...]:
    """The labels with others: what is added takes the place of what has the same key. UsageError where a label that is
    to be removed is not there."""
    new, gone = checked_labels(added), [checked_label(label) for label in removed]
    for label in gone:
        if not any(is_labelled((each,), label) for each in labels):
            raise UsageError(f"it has no label {label} to be removed: {', '.join(labels) or 'it has none at all'}")
    replaced = {key_of(label) for label in new}
    kept = [each for each in labels if key_of(each) not in replaced and not any(is_labelled((each,), g) for g in gone)]
    return checked_labels([*kept, *new])


def is_labelled(labels: Iterable[str], wanted: str) -> bool:
    """Whether one of the labels is this one; a key alone stands for all of its values."""
    return any(label == wanted or key_of(label) == wanted for label in labels)
