"""`dispatch` decides what becomes of a due row. A worker carries its answer out, `explain` tells it: one function, so
that they cannot disagree.

Endings come first, since no wait changes them (but a paused crawl keeps its rows as they are); then waits; robots.txt
last, since asking for it is a request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from nephila.models import CrawlState, Kind, Reason
from nephila.policy.robots_gate import RobotsGate
from nephila.profiles import AtMaxDepth, CrawlSettings, PoliteSettings, RobotsMode
from nephila.robots.rules import product_token_of
from nephila.urls.blocks import Blocks
from nephila.urls.identity import origin_of


class Step(StrEnum):
    SEND = "send"
    ASK_ROBOTS = "ask_robots"  # robots.txt of the row's origin comes first
    WAIT = "wait"  # the row stays open
    REFUSE = "refuse"  # the row ends as excluded, without a request
    GIVE_UP = "give_up"  # every open row of the queue ends, without a request


class Awaited(StrEnum):
    """What a row with `Step.WAIT` waits for."""

    RESUME = "resume"  # of its paused crawl
    UNBLOCK = "unblock"  # of its host, by an operator or in time
    RETRY = "retry"  # the time of its next try
    HOST = "host"  # the host's next allowed time
    ROBOTS = "robots"  # the answer of another host, to which robots.txt redirects


@dataclass(frozen=True, slots=True)
class Dispatch:
    step: Step
    reason: str = ""  # of REFUSE and GIVE_UP: a Reason; of WAIT: an Awaited
    detail: str = ""
    wait_ms: float = 0.0  # of WAIT, where it is known


class DueRow(Protocol):
    @property
    def url(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def kind(self) -> Kind: ...


@dataclass(frozen=True, slots=True)
class CrawlTerms:
    """A crawl as far as it decides about requests, with what operators say of all crawls."""

    state: CrawlState
    reason: str
    settings: CrawlSettings
    polite: PoliteSettings  # its floor is at least the floor of all crawls
    product_token: str
    pages_over: bool = False  # max_pages were had: only requisites are asked for


@dataclass(frozen=True, slots=True)
class Waits:
    """Milliseconds to wait, 0 where there is nothing to wait for. A worker has sat them out before it asks."""

    unblock_ms: float = 0.0
    unblock_reason: str = ""
    retry_ms: float = 0.0
    retry_reason: str = ""
    host_ms: float = 0.0
    host_reason: str = ""


NO_WAITS = Waits()
SEND = Dispatch(Step.SEND)
ASK_ROBOTS = Dispatch(Step.ASK_ROBOTS)
AWAIT_ROBOTS = Dispatch(Step.WAIT, Awaited.ROBOTS)


def terms_of(
    state: CrawlState,
    reason: str,
    settings: CrawlSettings,
    user_agent: str,
    floor_ms: int = 0,
    pages_over: bool = False,
) -> CrawlTerms:
    polite = settings.polite
    if floor_ms > polite.floor_ms:
        polite = polite.model_copy(update={"floor_ms": floor_ms})
    return CrawlTerms(state, reason, settings, polite, product_token_of(user_agent), pages_over)


def dispatch(
    row: DueRow,
    terms: CrawlTerms,
    fetched: int,
    dead: str,
    blocks: Blocks,
    gates: Mapping[str, RobotsGate],
    now: float,
    waits: Waits = NO_WAITS,
) -> Dispatch:
    """What becomes of `row`, whose queue has had `fetched` requests and was given up for the reason `dead`, if any.

    `gates` are the host's robots.txt by origin; `now` is a tick of the clock that their `expires_tick` is of.
    """
    if dead:
        return Dispatch(Step.GIVE_UP, dead, f"its host is given up ({dead})")
    if terms.state is CrawlState.ENDING:
        return Dispatch(Step.GIVE_UP, terms.reason, f"the crawl is ending ({terms.reason})")
    if terms.state is not CrawlState.RUNNING:
        return Dispatch(Step.WAIT, Awaited.RESUME, terms.reason)
    if terms.pages_over and not row.kind.traits.outlives_pages:
        pages = terms.settings.limits.max_pages
        return Dispatch(Step.REFUSE, Reason.LIMIT_PAGES, f"limits.max_pages ({pages:,}) pages were visited")
    address = row.address
    if blocks and not (decision := blocks.judge(row.url, address)).ok:
        return Dispatch(Step.REFUSE, Reason.RULE, decision.detail)
    ruled, settings = row.kind.traits.ruled, terms.settings
    scope = settings.scope
    if ruled and row.depth >= scope.max_depth and scope.at_max_depth is AtMaxDepth.RECORD:
        return Dispatch(Step.REFUSE, Reason.DEPTH, f"URLs at depth {scope.max_depth} are only recorded")
    if waits is not NO_WAITS and (wait := _wait(waits)) is not None:
        return wait
    if not ruled:
        return SEND
    if fetched >= settings.limits.max_urls_per_host:
        return Dispatch(Step.GIVE_UP, Reason.LIMIT_HOST, f"{fetched:,} URLs of its host have been asked for")
    if settings.robots.mode is RobotsMode.IGNORE:
        return SEND
    return _by_robots(gates.get(origin_of(address)), address, terms, now)


def _wait(waits: Waits) -> Dispatch | None:
    if waits.unblock_ms:
        return Dispatch(Step.WAIT, Awaited.UNBLOCK, waits.unblock_reason, waits.unblock_ms)
    if waits.retry_ms:
        return Dispatch(Step.WAIT, Awaited.RETRY, waits.retry_reason, waits.retry_ms)
    if waits.host_ms:
        return Dispatch(Step.WAIT, Awaited.HOST, waits.host_reason, waits.host_ms)
    return None


def _by_robots(gate: RobotsGate | None, url: str, terms: CrawlTerms, now: float) -> Dispatch:
    if gate is None:
        return ASK_ROBOTS
    if not gate.answered(now, terms.settings.robots):
        return AWAIT_ROBOTS if gate.pending(now) else ASK_ROBOTS
    decision = gate.judge(url, terms.product_token, terms.polite, terms.settings.robots)
    return SEND if decision.ok else Dispatch(Step.REFUSE, decision.reason, decision.detail)
