"""How many requests may be in flight: by use, by whether the event loop keeps up, and after a lack."""

from nephila.worker.room import BODY_BYTES_MAX, FIRST, LATE_MS_MAX, LOOK_MS, PAUSE_MS, Room


def looked(room: Room, in_flight: int, late_ms: float = 0.0, body_bytes: int = 0, times: int = 1) -> int:
    """The size after so many looks at the same state."""
    now = room._look_at
    for _ in range(times):
        if room.seen(in_flight, late_ms, now):
            room.adjust(body_bytes, now)
        now += LOOK_MS
    return room.size


def test_a_ceiling_is_never_passed() -> None:
    room = Room(2)
    assert room.has(1, 0.0) and not room.has(2, 0.0)
    assert looked(room, 2, times=50) == 2


def test_it_grows_while_all_of_it_is_used() -> None:
    room = Room(5000)
    assert looked(room, FIRST - 1, times=50) == FIRST
    assert FIRST < looked(room, FIRST) < 2 * FIRST
    assert looked(room, 5000, times=50) == 5000


def test_it_shrinks_while_the_loop_does_not_keep_up_and_no_further_than_it_was_at_first() -> None:
    room = Room(5000)
    most = looked(room, 5000, times=50)
    assert FIRST < looked(room, 5000, late_ms=LATE_MS_MAX + 1) < most
    assert looked(room, 5000, late_ms=LATE_MS_MAX + 1, times=100) == FIRST
    few = Room(3)
    assert looked(few, 3, late_ms=LATE_MS_MAX + 1, times=10) == 3


def test_what_was_seen_between_two_looks_counts() -> None:
    room = Room(5000)
    looked(room, 0)
    assert not room.seen(FIRST, 0.0, LOOK_MS / 2), "not yet"
    assert looked(room, 0) > FIRST


def test_no_request_starts_while_bodies_fill_the_memory() -> None:
    room = Room(5000)
    now = room._look_at
    looked(room, 0, body_bytes=BODY_BYTES_MAX + 1)
    assert not room.has(0, now) and room.has(0, now + LOOK_MS)


def test_a_lack_halves_it_after_a_pause() -> None:
    room = Room(64)
    assert room.lacked(40, 10.0) and not room.lacked(39, 11.0), "told once a pause"
    assert room.size == 20
    assert not room.has(0, 10.0 + PAUSE_MS - 1) and room.has(19, 10.0 + PAUSE_MS) and not room.has(20, 10.0 + PAUSE_MS)
    assert looked(room, 20, late_ms=LATE_MS_MAX + 1) == 20, "a lack is worse than a loop that is late"
    assert looked(room, 64, times=50) == 64


def test_one_request_is_always_left() -> None:
    room = Room(1)
    assert room.lacked(1, 0.0)
    assert room.size == 1 and not room.has(0, PAUSE_MS - 1) and room.has(0, PAUSE_MS)
