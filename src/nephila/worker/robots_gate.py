"""The robots.txt of one origin, as the owner of its host holds it. Pure: ticks come in."""

from dataclasses import dataclass
from enum import Enum, auto

from nephila.frontier.store import RobotsRecord
from nephila.models import Decision, Reason
from nephila.policy.politeness import crawl_delay_verdict
from nephila.profiles import PoliteSettings, RobotsSettings
from nephila.robots.access import RobotsAccess
from nephila.robots.rules import RobotsFile, RobotsRules, parse_robots

PENDING = "pending"  # redirected to another host, whose owner will answer
PENDING_MS_MAX = 600_000
PENDING_LOOK_MS = 2_000
ALLOWED = Decision(True, "robots")


class Need(Enum):
    NOTHING = auto()
    FETCH = auto()
    WAIT = auto()  # for the owner of another host


@dataclass(slots=True)
class RobotsGate:
    origin: str
    access: str = ""  # "": not known yet
    expires_tick: float = 0.0
    failures: int = 0
    since_tick: float = 0.0
    file: RobotsFile | None = None
    rules: dict[str, RobotsRules] | None = None

    @classmethod
    def of(cls, record: RobotsRecord, now: float) -> "RobotsGate":
        file = parse_robots(record.body) if record.access == RobotsAccess.RULES else None
        return cls(record.origin, record.access, now + record.expires_in_ms, record.failures, now, file)

    def need(self, now: float, settings: RobotsSettings) -> Need:
        if self.access == PENDING:
            return Need.WAIT if now < self.expires_tick else Need.FETCH
        if self.access == RobotsAccess.HOLD:
            return Need.NOTHING if self.failures >= settings.attempts_max and now < self.expires_tick else Need.FETCH
        return Need.NOTHING if self.access and now < self.expires_tick else Need.FETCH

    def judge(self, url: str, product_token: str, polite: PoliteSettings) -> Decision:
        """Only when nothing is needed any more."""
        if self.access == RobotsAccess.HOLD:
            return Decision(
                False,
                Reason.ROBOTS_UNREACHABLE,
                f"robots.txt of {self.origin} could not be had in {self.failures} attempts",
            )
        if self.file is None:
            return ALLOWED
        rules = self.rules_for(product_token)
        parked = crawl_delay_verdict(rules.crawl_delay_ms, polite)
        if not parked.ok:
            return parked
        decision = rules.judge(url)
        return decision if decision.ok else Decision(False, Reason.ROBOTS, decision.detail)

    def rules_for(self, product_token: str) -> RobotsRules:
        if self.rules is None:
            self.rules = {}
        found = self.rules.get(product_token)
        if found is None:
            assert self.file is not None
            found = self.rules[product_token] = self.file.rules_for(product_token)
        return found

    def crawl_delay_ms(self, product_token: str) -> int | None:
        return self.rules_for(product_token).crawl_delay_ms if self.file else None


def hold_ms(settings: RobotsSettings, failures: int) -> int:
    """How long the host rests before robots.txt is tried again."""
    return int(settings.retry_ms * 2 ** max(0, min(failures - 1, 20)))
