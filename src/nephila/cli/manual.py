"""`nephila manual`: the manual page, made from the help of all verbs."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from nephila import __version__
from nephila.cli import output

EXITS = {
    output.EXIT_DONE: "Done.",
    output.EXIT_FAILED: "Finished, but: no page at all could be had, nothing was found, or what was compared differs.",
    output.EXIT_USAGE: "Wrong usage, or the store cannot be used.",
    output.EXIT_BUSY: "Another process has been writing to the store for too long: try again.",
    output.EXIT_INTERRUPTED: "Interrupted or paused: the same command goes on.",
}


def manual() -> None:
    """Print the manual page: read it by `nephila manual | man -l -`, keep it as ~/.local/share/man/man1/nephila.1."""
    from nephila.cli.app import command_line  # which imports this verb

    print("\n".join(page(typer.main.get_command(command_line()))))


def page(command: Any) -> Iterator[str]:
    """The lines of the page, in the macros of man(7)."""
    yield f'.TH NEPHILA 1 "" "nephila {__version__}" "User Commands"'
    yield from (".SH NAME", f"nephila \\- {text_of(command.help)}")
    yield from (".SH SYNOPSIS", ".B nephila", ".I VERB", "[OPTIONS] [ARGUMENTS]", ".SH VERBS")
    for name, verb in command.commands.items():
        inner = getattr(verb, "commands", None) or {"": verb}  # a group has verbs of its own
        for own, each in inner.items():
            yield from section(f"{name} {own}".strip(), each)
    yield ".SH EXIT STATUS"
    for code, meaning in EXITS.items():
        yield from (".TP", f".B {code}", text_of(meaning))
    yield from (".SH ENVIRONMENT", text_of("`nephila settings` lists what NEPHILA_<NAME> sets, with its value."))
    yield from (".SH FILES", ".TP", ".I ./nephila\\-data")
    yield text_of("The embedded store, the archive and the search index, unless --data names another folder.")


def section(name: str, verb: Any) -> Iterator[str]:
    context = typer.Context(verb)
    yield f".SS nephila {text_of(name)} {text_of(' '.join(verb.collect_usage_pieces(context)))}"
    for paragraph in re.split(r"\n\s*\n", (verb.help or "").strip()):
        yield from (".PP", text_of(paragraph))
    for parameter in verb.params:
        if record := parameter.get_help_record(context):
            yield from (".TP", f".B {text_of(record[0])}", text_of(record[1]))


def text_of(text: str | None) -> str:
    """One line of text in which troff finds nothing to obey."""
    plain = " ".join((text or "").split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
