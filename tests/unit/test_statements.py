from nephila.statements import named_statements


def test_statements_have_the_name_above_them_and_no_comments() -> None:
    found = named_statements("nephila.frontier", "sql", "sqlite", "worker.sql")
    assert found
    for sql in found.values():
        assert sql == sql.strip() and not sql.endswith(";") and not sql.startswith("--")
