"""`FairQueue`: jobs of many hosts that wait for a helper process. Pure: nobody waits here, and no clock is asked.

The next job is one of the host that has had the least of the helpers' time. So a host whose pages take seconds waits
for itself, and hosts whose pages take milliseconds wait for one of its pages at the most.
"""

from collections import deque
from typing import Generic, NamedTuple, TypeVar

COST_GUESS_SECONDS = 0.005  # of a page of a host that no helper has read a page of
COST_WEIGHT = 0.5  # of the newest page in what a host's pages are expected to take
HOSTS_REMEMBERED = 4096  # beyond, those without a job are forgotten

T = TypeVar("T")


class _Share(Generic[T]):
    """One host."""

    __slots__ = ("bytes", "cost", "jobs", "used")

    def __init__(self, used: float) -> None:
        self.used = used  # seconds of helpers, on the scale of all hosts (see FairQueue._passed)
        self.cost = COST_GUESS_SECONDS  # that its next page will take
        self.jobs: deque[tuple[T, int]] = deque()  # with their bytes
        self.bytes = 0


class Turn(NamedTuple, Generic[T]):
    job: T
    seconds: float  # that it is expected to take, which its host is charged with until `spent` says better


class FairQueue(Generic[T]):
    def __init__(self, bytes_max: int) -> None:
        self.bytes = 0  # of all that wait
        self._bytes_max = bytes_max
        self._shares: dict[str, _Share[T]] = {}
        self._waiting: dict[str, _Share[T]] = {}  # those with a job
        # What the host had used whose turn it was last. Who comes now starts there: nobody saves time up.
        self._passed = 0.0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def expected_seconds(self, host: str) -> float:
        """What a page of this host takes, as far as is known."""
        share = self._shares.get(host)
        return COST_GUESS_SECONDS if share is None else share.cost

    def put(self, host: str, job: T, size: int) -> list[T]:
        """Add a job. Answers what has to leave: the newest jobs of the host with the most bytes, while all that wait
        have more than `bytes_max`. One job may stay whatever its size."""
        share = self._share(host)
        if not share.jobs:
            share.used = max(share.used, self._passed)
            self._waiting[host] = share
        share.jobs.append((job, size))
        self._grow(share, size)
        left = []
        while self.bytes > self._bytes_max and (len(self._waiting) > 1 or len(share.jobs) > 1):
            largest = max(self._waiting, key=lambda host: self._waiting[host].bytes)
            left.append(self._let_go(largest, newest=True))
        return left

    def next(self) -> Turn[T] | None:
        """The job whose turn it is; it stays."""
        if not self._waiting:
            return None
        share = self._waiting[self._first()]
        return Turn(share.jobs[0][0], share.cost)

    def take(self) -> Turn[T]:
        """Take the job whose turn it is."""
        host = self._first()
        share = self._waiting[host]
        self._passed = max(self._passed, share.used)
        share.used += share.cost
        return Turn(self._let_go(host, newest=False), share.cost)

    def spent(self, host: str, expected: float, seconds: float) -> None:
        """A job of the host, expected to take so long when it was taken, took so many seconds of a helper."""
        share = self._share(host)
        share.used += seconds - expected
        share.cost += COST_WEIGHT * (seconds - share.cost)

    def remove(self, host: str, job: T) -> bool:
        """Forget a job that waits; false: it does not wait."""
        share = self._waiting.get(host)
        for place, (waiting, size) in enumerate(share.jobs if share else ()):
            if share is not None and waiting is job:
                del share.jobs[place]
                self._shrink(host, share, size)
                return True
        return False

    def _share(self, host: str) -> _Share[T]:
        share = self._shares.get(host)
        if share is None:
            if len(self._shares) >= HOSTS_REMEMBERED:
                self._shares = dict(self._waiting)
            share = self._shares[host] = _Share(self._passed)
        return share

    def _first(self) -> str:
        return min(self._waiting, key=lambda host: self._waiting[host].used)

    def _let_go(self, host: str, *, newest: bool) -> T:
        share = self._waiting[host]
        job, size = share.jobs.pop() if newest else share.jobs.popleft()
        self._shrink(host, share, size)
        return job

    def _grow(self, share: _Share[T], size: int) -> None:
        share.bytes += size
        self.bytes += size

    def _shrink(self, host: str, share: _Share[T], size: int) -> None:
        self._grow(share, -size)
        if not share.jobs:
            del self._waiting[host]
