"""Every module with a decision has a test where CONTRIBUTING.md says."""

import ast
import re

from tests.architecture.sources import ROOT, SRC, Module, product

TITLE = "| tested elsewhere |"
BRANCHES = (ast.If, ast.IfExp, ast.Match, ast.For, ast.While, ast.Try, ast.BoolOp, ast.comprehension)


def decides(module: Module) -> bool:
    functions = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(isinstance(node, BRANCHES) for function in functions for node in ast.walk(function))


def elsewhere() -> dict[str, list[str]]:
    """Module or folder, and where its tests are, by the table of CONTRIBUTING.md."""
    _, _, after = (ROOT / "CONTRIBUTING.md").read_text().partition(TITLE)
    rows = [line.split("|")[1:3] for line in after.partition("\n\n")[0].splitlines()[2:]]
    quoted = [[re.findall(r"`([^`]+)`", cell) for cell in row] for row in rows]
    return {name: places for names, places in quoted for name in names}


def own_test(module: Module) -> bool:
    path = module.path.relative_to(SRC)
    return (ROOT / "tests" / "unit" / path.parent / f"test_{path.stem}.py").exists()


def test_every_module_with_a_decision_is_tested_where_contributing_says() -> None:
    table = elsewhere()
    untested = [
        module.place
        for module in product()
        if decides(module)
        and not own_test(module)
        and module.place not in table
        and not any(name.endswith("/") and module.place.startswith(name) for name in table)
    ]
    assert untested == []


def test_the_table_names_only_what_is_needed() -> None:
    table = elsewhere()
    assert len(table) > 10
    assert [name for name in table if not (SRC / name).exists()] == []
    assert [place for places in table.values() for place in places if not (ROOT / place).exists()] == []
    assert [module.place for module in product() if module.place in table and own_test(module)] == []
