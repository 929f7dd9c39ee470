"""`RecentAnswers`: the cache of everything that may be a second old, however many ask for it."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from nephila.clock import Clock

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True, eq=False)
class RecentAnswer(Generic[V]):
    began: float  # tick
    until: float  # tick at which it is too old
    before: "Future[V] | None"  # the answer that this one replaces, where somebody may want it meanwhile
    future: "Future[V]" = field(default_factory=Future)


class RecentAnswers(Generic[K, V]):
    """Answers by key, each good for `kept_ms` since it was asked for; the `answers_max` latest are kept.

    Equal keys have one computation at a time: whoever asks meanwhile waits for it. A failure reaches all who wait and
    is not kept. Any thread may ask; an event loop uses `claim` and awaits the future.
    """

    def __init__(self, clock: Clock, kept_ms: float, answers_max: int = 1, rest_share: float = 0.0) -> None:
        """`rest_share`: an answer that took long is good for at least so many times as long as it took."""
        self.kept_ms = kept_ms
        self._clock = clock
        self._answers_max = answers_max
        self._rest_share = rest_share
        self._lock = Lock()
        self._answers: dict[K, RecentAnswer[V]] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: K, compute: Callable[[], V]) -> V:
        answer, first = self.claim(key)
        if first:
            self.settle(key, answer, compute)
        return answer.future.result()

    def get_at_once(self, key: K, compute: Callable[[], V], unknown: V) -> V:
        """As `get`, but nobody waits for another thread: meanwhile the answer before counts, else `unknown`."""
        answer, first = self.claim(key, keep_before=True)
        if first:
            return self.settle(key, answer, compute)
        if answer.future.done():
            return answer.future.result()
        return answer.before.result() if answer.before else unknown

    def claim(self, key: K, *, keep_before: bool = False) -> tuple[RecentAnswer[V], bool]:
        """The answer to `key`, and whether it is the caller who must compute it, with `settle` or by its future."""
        now = self._clock.tick_ms()
        with self._lock:
            known = self._answers.get(key)
            if known is not None and (now < known.until or not known.future.done()):
                return known, False
            self._answers.pop(key, None)
            before = known.future if known and keep_before else None
            answer = self._answers[key] = RecentAnswer(now, now + self.kept_ms, before)
            answer.future.set_running_or_notify_cancel()  # from now on nobody who waits can cancel it
            if len(self._answers) > self._answers_max:
                del self._answers[next(iter(self._answers))]
        return answer, True

    def settle(self, key: K, answer: RecentAnswer[V], compute: Callable[[], V]) -> V:
        try:
            value = compute()
        except BaseException as error:
            self.fail(key, answer, error)
            raise
        ended = self._clock.tick_ms()
        answer.until = max(answer.until, ended + self._rest_share * (ended - answer.began))
        answer.future.set_result(value)
        return value

    def fail(self, key: K, answer: RecentAnswer[V], error: BaseException) -> None:
        """Ends a claim without an answer: whoever waits hears of the error, and the next one asks anew."""
        self.forget(key, answer)
        answer.future.set_exception(error)

    def ms_left(self, key: K) -> float:
        """How long the answer to `key` is still good; 0 where there is none."""
        known = self._answers.get(key)
        return max(known.until - self._clock.tick_ms(), 0.0) if known else 0.0

    def forget(self, key: K, answer: RecentAnswer[V] | None = None) -> None:
        """Forgets the answer to `key`; where `answer` is given, only if it is still that one."""
        with self._lock:
            if answer is None or self._answers.get(key) is answer:
                self._answers.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._answers.clear()
