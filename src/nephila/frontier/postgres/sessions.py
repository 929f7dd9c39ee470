"""The end of sessions, by the worker itself, by any other worker's lease or by upkeep."""

from nephila.frontier.postgres.connection import Cursor
from nephila.frontier.session import FencedSessions
from nephila.frontier.statements import statements

SQL = statements("postgres", "sessions")


def fence_dead(cursor: Cursor, now: int, me: int = 0) -> FencedSessions:
    """Sessions whose lease is over lose everything they held; partitions remember that they were forced."""
    dead = dict(cursor.execute(SQL["dead"], {"now": now, "me": me}).fetchall())
    if dead:
        fence(cursor, list(dead), now, forced_at=now)
    return FencedSessions(len(dead), sum(dead.values()))


def fence(cursor: Cursor, workers: list[int], now: int, forced_at: int | None) -> None:
    values = {"workers": workers, "now": now, "forced_at": forced_at}
    cursor.execute(SQL["fence_sessions"], values)
    cursor.execute(SQL["free_partitions"], values)
    cursor.execute(SQL["return_grants"], values)
