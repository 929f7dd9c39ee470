"""The repository as the architecture tests read it: modules, their syntax, who imports whom."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "nephila"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Module:
    path: Path
    name: str  # dotted
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        """As the documents write it: below src/nephila."""
        return self.path.relative_to(SRC).as_posix()

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def imports(self) -> Iterator[str]:
        """Everything that is imported, the imported names as if they were modules, too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module(path: Path, root: Path) -> Module:
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text()
    return Module(path, name, text, ast.parse(text))


@cache
def product() -> tuple[Module, ...]:
    return tuple(_module(path, SRC.parent) for path in sorted(SRC.rglob("*.py")))


@cache
def modules_of_tests() -> tuple[Module, ...]:
    return tuple(_module(path, ROOT) for path in sorted(TESTS.rglob("*.py")))


def calls_of(module: Module, owner: str, name: str) -> list[int]:
    """Lines that call `owner.name(...)`, or `name(...)` where it was imported from there."""
    direct = f"{owner}.{name}" in set(module.imports())
    found = []
    for call in module.calls():
        function = call.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            if function.value.id == owner and function.attr == name:
                found.append(call.lineno)
        elif isinstance(function, ast.Name) and function.id == name and direct:
            found.append(call.lineno)
    return found
