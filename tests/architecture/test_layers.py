"""The layers and seams: who may name whom, and that nothing is left over that nobody names."""

import ast
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from nephila.cli.app import VERBS as COMMANDS
from nephila.frontier.rows import BROKEN
from nephila.frontier.statements import SHARED, statements
from tests.architecture.sources import ROOT, SRC, Module, product

DATABASES = ("sqlite", "postgres")
VERBS = ("rows", "row", "value", "change")  # of frontier.tables.Tables
# Run as programs, so no import leads to them.
ENTRY_POINTS = {
    "nephila": "the package itself",
    "nephila.__main__": "python -m nephila",
    "nephila.cli.app": "the console script of pyproject.toml",
    "nephila.extract.parse_worker": "spawned by extract/parse_pool.py",
}


def contract() -> dict[str, Any]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert config["root_package"] == "nephila"
    layers = [contract for contract in config["contracts"] if contract["type"] == "layers"]
    assert len(layers) == 1
    return layers[0]  # type: ignore[no-any-return]


def top_level() -> set[str]:
    entries = (entry for entry in SRC.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists())
    return {f"nephila.{entry.stem}" for entry in entries if entry.stem not in ("__init__", "__main__")}


def test_the_layers_name_every_package() -> None:
    named = [name.strip() for layer in contract()["layers"] for name in layer.split("|")]
    assert sorted(named) == sorted(top_level())


def test_the_layers_have_no_exceptions() -> None:
    assert contract().keys() <= {"name", "type", "layers"}


def test_make_check_looks_at_the_layers() -> None:
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    for tool in ("ruff format --check", "ruff check", "mypy", "lint-imports"):
        assert tool in recipe[1]


@pytest.mark.parametrize("database", DATABASES)
def test_only_wiring_names_a_backend(database: str) -> None:
    backend = f"nephila.frontier.{database}"
    strangers = {
        module.place
        for module in product()
        if any(name == backend or name.startswith(f"{backend}.") for name in module.imports())
        and not f"{module.name}.".startswith(f"{backend}.")
    }
    assert strangers == {"wiring.py"}


def test_every_module_is_imported_by_another() -> None:
    imported = {name for module in product() for name in module.imports() if name != module.name}
    packages = {module.name for module in product() if module.path.name == "__init__.py"}
    imported |= {f"nephila.cli.{verb}" for verb in COMMANDS}  # by the command line, when they are asked for
    dead = {module.name for module in product()} - imported - packages - ENTRY_POINTS.keys()
    assert dead == set()


def test_the_entry_points_are_used() -> None:
    assert 'nephila = "nephila.cli.app:main"' in (ROOT / "pyproject.toml").read_text()
    assert '"nephila.extract.parse_worker"' in (SRC / "extract" / "parse_pool.py").read_text()


# --- every statement of the .sql files is used, and by the name it has there


def statement_dicts(modules: list[Module]) -> dict[tuple[str, str], str]:
    """(module, name of a variable) -> the .sql file whose statements it holds."""
    found = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                call, (target, *_) = node.value, node.targets
                if isinstance(call.func, ast.Name) and call.func.id == "statements" and isinstance(target, ast.Name):
                    file = call.args[1]
                    assert isinstance(file, ast.Constant)
                    found[module.name, target.id] = str(file.value)
    return found


def names_in(module: Module, dicts: dict[tuple[str, str], str]) -> dict[str, str]:
    """What the variables of a module mean, those included that it imported from its neighbours."""
    names = {name: file for (owner, name), file in dicts.items() if owner == module.name}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (node.module, alias.name) in dicts:
                    names[alias.asname or alias.name] = dicts[node.module, alias.name]
    return names


def used_statements(module: Module, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            assert isinstance(node.slice, ast.Constant), f"{module.place}:{node.lineno}: a statement by a computed name"
            yield names[node.value.id], str(node.slice.value)


def names_by_verb(module: Module) -> Iterator[str]:
    """What a module asks `Tables` for: the first argument of a verb, or an item of `sql`."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=verb), args=[ast.Constant(value=name)]) if verb in VERBS:
                yield str(name)
            case ast.Subscript(value=ast.Attribute(attr="sql") | ast.Name(id="sql"), slice=ast.Constant(value=name)):
                yield str(name)


@pytest.mark.parametrize("database", DATABASES)
def test_every_statement_is_used_and_exists(database: str) -> None:
    own = [module for module in product() if module.name.startswith(f"nephila.frontier.{database}")]
    both = [module for module in product() if module.name.rpartition(".")[0] == "nephila.frontier"]
    dicts = statement_dicts(own)
    files = [path.stem for path in (SRC / "frontier" / "sql" / database).glob("*.sql") if not path.stem.isdigit()]
    written = {(file, name) for file in files for name in statements(database, file)}
    file_of = {name: file for file in SHARED for name in statements(database, file)}
    used = {pair for module in own for pair in used_statements(module, names_in(module, dicts))}
    used |= {(file_of.get(name, "none"), name) for module in (*own, *both) for name in names_by_verb(module)}
    used |= {("checks", name) for name in statements(database, "checks") if name in BROKEN}  # all are run
    assert sorted(written - used) == []
    assert sorted(used - written) == []
