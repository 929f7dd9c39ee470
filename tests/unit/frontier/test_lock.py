"""The lock of writers: in turn, with an end, and by name."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from nephila.clock import VirtualClock
from nephila.errors import StoreBusy
from nephila.frontier.sqlite import SqliteDatabase
from nephila.frontier.sqlite import lock as locks
from nephila.frontier.sqlite.lock import WriteLock
from nephila.frontier.tables import Patience
from tests.patience import PATIENCE_SECONDS, until

SHORT, ENDLESS = Patience(0.001), Patience(PATIENCE_SECONDS)


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "SECONDS_MIN", 0.001)


def lock_of(folder: Path, clock: VirtualClock, patience: Patience = SHORT) -> WriteLock:
    return WriteLock(folder / "lock", folder / "nephila.db", clock, patience)


def is_free(folder: Path) -> bool:
    fd = os.open(folder / "lock", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def test_whoever_gives_up_says_who_holds_it_and_since_when(tmp_path: Path, clock: VirtualClock) -> None:
    first, second = lock_of(tmp_path, clock), lock_of(tmp_path, clock)
    with first.held():
        clock.advance(12_000)
        with (
            pytest.raises(StoreBusy, match=rf"process {os.getpid()} \(.*\) .*, for 12 s: try again later"),
            second.held(),
        ):
            pass
    with lock_of(tmp_path, clock, ENDLESS).held():
        assert not is_free(tmp_path)
    until(lambda: is_free(tmp_path), "the lock that nobody wants any more")


def test_a_turn_that_was_given_up_is_taken_over(tmp_path: Path, clock: VirtualClock) -> None:
    first, second = lock_of(tmp_path, clock), lock_of(tmp_path, clock)
    before = set(threading.enumerate())  # turns of tests before may not have ended yet
    with first.held():
        for _ in range(3):
            with pytest.raises(StoreBusy), second.held():
                pass
        assert sum(thread.name == "turn" for thread in set(threading.enumerate()) - before) == 1
    until(lambda: is_free(tmp_path))


def test_a_writer_waits_for_its_turn(tmp_path: Path, clock: VirtualClock) -> None:
    first, second = lock_of(tmp_path, clock), lock_of(tmp_path, clock, ENDLESS)
    order = []

    def write() -> None:
        with second.held():
            order.append("second")

    waiting = threading.Thread(target=write)
    with first.held():
        waiting.start()
        until(lambda: any(thread.name == "turn" for thread in threading.enumerate()))
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]
    until(lambda: is_free(tmp_path))


def test_a_holder_that_has_not_signed_yet_has_had_no_time(tmp_path: Path, clock: VirtualClock) -> None:
    """The time since the turn before is not its own: after an idle hour the next writer waits as long as ever."""
    with lock_of(tmp_path, clock).held():
        clock.advance(10)
    clock.advance(3_600_000)
    fd = os.open(tmp_path / "lock", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        assert lock_of(tmp_path, clock, Patience(5.0))._limits() == (5.0, locks.SAY_SECONDS)
    finally:
        os.close(fd)


def test_a_long_wait_is_told_once(tmp_path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "SAY_SECONDS", 0.001)
    said: list[str] = []
    first, second = lock_of(tmp_path, clock), lock_of(tmp_path, clock, Patience(0.1, said.append))
    with first.held(), pytest.raises(StoreBusy), second.held():
        pass
    assert len(said) == 1 and ": waiting" in said[0]


def test_opening_a_store_that_is_up_to_date_and_reading_it_waits_for_nobody(tmp_path: Path) -> None:
    writer = SqliteDatabase(tmp_path)
    with writer.write() as db:
        db.execute("UPDATE control SET version = 7")
        reader = SqliteDatabase(tmp_path, patience=SHORT)
        assert reader.read("SELECT version FROM control") == [(0,)]
        with pytest.raises(StoreBusy):
            reader.change("move_control")
    assert reader.read("SELECT version FROM control") == [(7,)]
    reader.close()
    writer.close()
