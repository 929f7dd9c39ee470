"""`World`: one clock, one source of chance, and everything that is about to happen, in the order of its time.

Nothing runs at the same time: the world takes the earliest event or callback, moves the clock there, runs it, and
looks again. Where several processes could run, chance says which is first. So a seed decides everything.
"""

import random
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

CALLBACK_MS_MAX = 0.02  # a callback takes some time: a process that only turns round sees the clock go on
STEPS_MAX = 600_000
START_MS = 1_700_000_000_000  # of every wall clock


class Broken(AssertionError):
    """An invariant does not hold."""


class Process(Protocol):
    def next_ms(self) -> float | None:
        """When it could run, None: never."""

    def step(self) -> None: ...


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now_ms = 0.0
        self.processes: list[Process] = []
        self.broken: list[str] = []  # what was seen while it ran
        self.trace: list[tuple[float, str]] = []
        self.steps = 0
        self.detailed = False  # the trace tells every call of the store
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def now(self) -> float:
        return self.now_ms

    def say(self, text: str) -> None:
        self.trace.append((self.now_ms, text))

    def detail(self, text: Callable[[], str]) -> None:
        if self.detailed:
            self.say(text())

    def blame(self, text: str) -> None:
        self.broken.append(f"{text} (at {self.now_ms:.3f} ms)")
        self.say(f"BROKEN {text}")

    def after(self, ms: float, do: Callable[[], None]) -> None:
        heappush(self._events, (self.now_ms + ms, next(self._order), do))

    def between(self, least: float, most: float) -> float:
        return self.chance.uniform(least, most)

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def run(self, over: Callable[[], bool], limit_ms: float, what: str) -> None:
        """Until it is over. Broken: it is not by then, or nothing is left that could end it."""
        end = self.now_ms + limit_ms
        while not over():
            self.steps += 1
            if self.now_ms > end or self.steps > STEPS_MAX:
                raise Broken(f"{what}: not over after {limit_ms / 1000:.0f} s and {self.steps:,} steps")
            if not self._step():
                raise Broken(f"{what}: nothing happens any more")

    def _step(self) -> bool:
        times = [(process.next_ms(), process) for process in self.processes]
        due = min((at for at, _ in times if at is not None), default=None)
        event_at = self._events[0][0] if self._events else None
        if event_at is not None and (due is None or event_at <= max(due, self.now_ms)):
            at, _, do = heappop(self._events)
            self.now_ms = max(self.now_ms, at)
            do()
            return True
        if due is None:
            return False
        self.now_ms = max(self.now_ms, due)
        ready = [process for at, process in times if at is not None and at <= self.now_ms]
        (ready[0] if len(ready) == 1 else self.chance.choice(ready)).step()
        self.now_ms += self.chance.random() * CALLBACK_MS_MAX
        return True
