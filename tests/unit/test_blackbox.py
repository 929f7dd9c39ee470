from pathlib import Path

from nephila.blackbox import BlackBox, last_entries


def test_the_url_being_read_outlives_its_process(tmp_path: Path) -> None:
    path = tmp_path / "box"
    box = BlackBox(path)
    assert last_entries(path) == []
    box.write(7)
    assert last_entries(path) == [7]
    box.write(0)
    assert last_entries(path) == []


def test_a_box_that_was_never_or_half_made_names_no_url(tmp_path: Path) -> None:
    assert last_entries(tmp_path / "none") == []
    (tmp_path / "half").write_bytes(b"\1\0\0")
    assert last_entries(tmp_path / "half") == []
