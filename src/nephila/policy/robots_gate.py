"""`RobotsGate`: what the owner of a host knows of one origin's robots.txt. Pure: ticks come in."""

from dataclasses import dataclass, field
from typing import Protocol

from nephila.models import Decision, Reason
from nephila.policy.politeness import crawl_delay_verdict
from nephila.profiles import PoliteSettings, RobotsOnError, RobotsSettings
from nephila.robots.access import RobotsAccess, access_for
from nephila.robots.rules import RobotsFile, RobotsRules, parse_robots

PENDING_MS_MAX = 600_000  # how long an origin waits for the owner of the host that its robots.txt redirects to
ALLOWED = Decision(True, "robots")


class StoredAnswer(Protocol):
    """The answer to a robots.txt as a store keeps it."""

    @property
    def origin(self) -> str: ...
    @property
    def access(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def body(self) -> bytes: ...
    @property
    def failures(self) -> int: ...
    @property
    def expires_in_ms(self) -> int: ...


@dataclass(slots=True)
class RobotsGate:
    origin: str
    access: str  # of RobotsAccess, by RFC 9309: each crawl judges by its own policy
    expires_tick: float
    failures: int = 0  # attempts in a row without an answer
    file: RobotsFile | None = None
    status: int | None = None
    rules: dict[str, RobotsRules] = field(default_factory=dict)  # by product token
    accesses: dict[RobotsOnError, str] = field(default_factory=dict)  # by policy

    @classmethod
    def of(
        cls, origin: str, access: str, status: int | None, body: bytes, failures: int, expires_tick: float
    ) -> "RobotsGate":
        file = parse_robots(body) if body or access == RobotsAccess.RULES else None
        return cls(origin, access, expires_tick, failures, file, status)

    @classmethod
    def of_answer(cls, answer: StoredAnswer, now: float) -> "RobotsGate":
        """The answer as its host's owner holds it; `now` is the tick at which it was made or loaded."""
        known = (answer.origin, answer.access, answer.status, answer.body, answer.failures)
        return cls.of(*known, now + answer.expires_in_ms)

    def access_for(self, settings: RobotsSettings) -> str:
        found = self.accesses.get(settings.on_error)
        if found is None:
            found = self.accesses[settings.on_error] = access_for(self.access, self.status, settings.on_error)
        return found

    def answered(self, now: float, settings: RobotsSettings) -> bool:
        """True: `judge` may be asked. False: robots.txt is to be asked for, or its answer is awaited (`pending`)."""
        if now >= self.expires_tick or self.access == RobotsAccess.PENDING:
            return False
        return self.access_for(settings) != RobotsAccess.HOLD or self.failures >= settings.attempts_max

    def pending(self, now: float) -> bool:
        """True: the owner of another host is about to answer."""
        return self.access == RobotsAccess.PENDING and now < self.expires_tick

    def judge(self, url: str, product_token: str, polite: PoliteSettings, settings: RobotsSettings) -> Decision:
        """Whether robots.txt lets `product_token` ask for `url`; only where `answered`."""
        access = self.access_for(settings)
        if access == RobotsAccess.HOLD:
            detail = f"robots.txt of {self.origin} could not be had in {self.failures} attempts"
            return Decision(False, Reason.ROBOTS_UNREACHABLE, detail)
        if self.file is None or access != RobotsAccess.RULES:
            return ALLOWED
        rules = self.rules_for(product_token)
        parked = crawl_delay_verdict(rules.crawl_delay_ms, polite, force=settings.force)
        if not parked.ok:
            return parked
        decision = rules.judge(url)
        return decision if decision.ok else Decision(False, Reason.ROBOTS, decision.detail)

    def rules_for(self, product_token: str) -> RobotsRules:
        found = self.rules.get(product_token)
        if found is None:
            assert self.file is not None
            found = self.rules[product_token] = self.file.rules_for(product_token)
        return found

    def crawl_delay_ms(self, product_token: str) -> int | None:
        return self.rules_for(product_token).crawl_delay_ms if self.access == RobotsAccess.RULES else None


def hold_ms(settings: RobotsSettings, failures: int) -> int:
    """How long the host rests before robots.txt is asked for again."""
    return int(settings.retry_ms * 2 ** max(0, min(failures - 1, 20)))
