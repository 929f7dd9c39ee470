"""Commands that are printed as advice. They run as printed in a POSIX shell, on the data of who says them."""

import re
import shlex

from nephila.settings import ProcessSettings, without_password

# Verbs without --archive.
WITHOUT_ARCHIVE = frozenset(
    {
        "urls",
        "refused",
        "explain",
        "robots",
        "sitemaps",
        "export",
        "compare",
        "status",
        "label",
        "pause",
        "migrate",
        "token",
    }
)
# A command in a message of a lower layer, which knows no options.
_QUOTED = re.compile(r"`nephila ((?:[a-z]+)(?: [\w.=-]+)*)`")
_PASSWORD = re.compile(r"(?<=[?&])password=[^&]*&?")


def command(settings: ProcessSettings, verb: str, *arguments: object, **options: str | bool) -> str:
    """`nephila VERB ...` with the options that find the same data; an option that is True has no value."""
    given = []
    for name, value in options.items():
        given += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    given += _data_options(settings, verb)
    words = [str(argument) for argument in arguments]
    if any(word.startswith("-") for word in words):
        return shlex.join(["nephila", verb, *given, "--", *words])
    return shlex.join(["nephila", verb, *words, *given])


def located(text: str, settings: ProcessSettings) -> str:
    """A message whose commands in backticks find the same data."""

    def with_options(found: re.Match[str]) -> str:
        words = found[1].split()
        if {"--data", "--store", "--archive"}.intersection(words):
            return found[0]
        return f"`{shlex.join(['nephila', *words, *_data_options(settings, words[0])])}`"

    return _QUOTED.sub(with_options, text)


def _data_options(settings: ProcessSettings, verb: str) -> list[str]:
    """What was said on the command line: the environment is the same for the next command.

    Without its password, which .pgpass or PGPASSWORD may have: hints are kept in logs and histories.
    """
    given = settings.given
    found = ["--data", str(settings.data)] if "data" in given else []
    if "store" in given and settings.store:
        found += ["--store", _PASSWORD.sub("", without_password(settings.store)).rstrip("?&")]
    if "archive" in given and settings.archive and verb not in WITHOUT_ARCHIVE:
        found += ["--archive", str(settings.archive)]
    return found
