"""The repository as the architecture tests read it: modules, their syntax, who imports whom."""

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "nephila"
TESTS = ROOT / "tests"

WORD = re.compile(r"[A-Za-z_]\w*")
SQL_COMMENT = re.compile(r"--.*")


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

    def classes(self) -> list[str]:
        """Names of the classes at the top of the module."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    def docstrings(self) -> list[ast.Constant]:
        """The docstrings of the module, its classes and its functions."""
        described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        first = (node.body[0] for node in ast.walk(self.tree) if isinstance(node, described) and node.body)
        values = (statement.value for statement in first if isinstance(statement, ast.Expr))
        return [value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]

    def prose(self) -> Iterator[str]:
        """Docstrings and comments."""
        yield from (str(docstring.value) for docstring in self.docstrings())
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                yield token.string

    def words(self) -> set[str]:
        """Every name that the code uses, and every word of its strings: columns, settings, fields of JSON."""
        docstrings = set(map(id, self.docstrings()))
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                found.update(WORD.findall(node.value))
            for name in ("id", "attr", "arg", "name", "module"):
                found.update(WORD.findall(str(getattr(node, name, None) or "")))
        return found


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


@cache
def names_in_use() -> frozenset[str]:
    """Names and words of the package, its statements and its files, and of Python itself."""
    words = set(dir(builtins)).union(*(module.words() for module in product()))
    for path in SRC.rglob("*.sql"):
        words.update(WORD.findall(SQL_COMMENT.sub("", path.read_text())))
    return frozenset(words | {path.stem for folder in (SRC, TESTS) for path in folder.rglob("*.*")})


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


@cache
def members() -> dict[str, set[str]]:
    """Methods, properties, fields and attributes of every class of the product, those of its bases included."""
    found: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for module in product():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_members(node))
                bases.setdefault(node.name, set()).update(base.id for base in node.bases if isinstance(base, ast.Name))
    for name in found:
        waiting = set(bases[name])
        while waiting:
            base = waiting.pop()
            found[name] |= found.get(base, set())
            waiting |= bases.get(base, set())
    return found


def _members(node: ast.ClassDef) -> set[str]:
    names = {part.name for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    names |= _assigned(node.body)
    targets = (part for part in ast.walk(node) if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store))
    return names | {part.attr for part in targets if isinstance(part.value, ast.Name) and part.value.id == "self"}


def constants(path: Path) -> set[str]:
    """Names that a module assigns at its top."""
    return _assigned(ast.parse(path.read_text()).body)


def _assigned(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        single = [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in node.targets if isinstance(node, ast.Assign) else single:
            found.update(name.id for name in ast.walk(target) if isinstance(name, ast.Name))
    return found
