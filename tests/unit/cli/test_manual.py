"""The manual page has every verb and option, and troff takes it without a warning."""

import re
import shutil
import subprocess

import typer

from nephila.cli.app import command_line
from nephila.cli.manual import page, text_of


def lines() -> list[str]:
    return list(page(typer.main.get_command(command_line())))


def test_every_verb_and_option_is_there() -> None:
    text = "\n".join(lines()).replace("\\-", "-")
    command = typer.main.get_command(command_line())
    for name, verb in command.commands.items():
        assert f".SS nephila {name} " in text
        for own in getattr(verb, "commands", {}):
            assert f".SS nephila {name} {own} " in text
        for parameter in verb.params:
            assert all(option in text for option in parameter.opts if option.startswith("--"))


def test_nothing_in_a_text_is_obeyed() -> None:
    assert text_of(".so /etc/passwd\n 'x \\n") == "\\&.so /etc/passwd 'x \\en"
    assert text_of(None) == ""


def test_troff_finds_nothing_but_macros_of_man() -> None:
    controls = {line.split()[0] for line in lines() if line.startswith((".", "'"))}
    assert controls == {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I"}
    assert all("\n" not in line for line in lines())
    groff = shutil.which("groff")
    if groff is None:  # a second look, where there is one
        return
    done = subprocess.run(
        [groff, "-man", "-ww", "-Tutf8"], input="\n".join(lines()), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(r".\x08", "", done.stdout)  # a bold letter is printed twice
    assert "nephila crawl" in shown and "EXIT STATUS" in shown
