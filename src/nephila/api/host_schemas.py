"""Hosts as OpenAPI shows them: of one crawl, and over all."""

from pydantic import Field, model_validator

from nephila.api.schemas import (
    YEAR_MS,
    Body,
    ClockView,
    HostRuleView,
    Ms,
    QueueView,
    ReasonText,
    RobotsRecordView,
    View,
)


class HostQueueView(View):
    queue: QueueView
    clock: ClockView | None
    rule: HostRuleView | None = Field(description="an operator's word about it")
    robots_version: int | None
    robots_access: str | None


class HostList(View):
    hosts: list[HostQueueView]
    next: str | None = Field(description="give it as `after`; null: this is the last page")


class HostFactsView(View):
    host: str
    clock: ClockView | None
    rule: HostRuleView | None
    robots: list[RobotsRecordView]


class RuledHostView(View):
    clock: ClockView
    rule: HostRuleView | None
    robots_version: int | None = Field(description="of the origin that was asked last; it grows when the text changes")
    robots_access: str | None


class RuledHostList(View):
    hosts: list[RuledHostView]
    next: str | None = Field(description="give it as `after`; null: nothing more is there now")


class RobotsTextView(RobotsRecordView):
    text: str | None = Field(description="null: there is none; what cannot be read as UTF-8 is replaced")
    truncated: bool = Field(description="the text goes on")


class RobotsTextList(View):
    robots: list[RobotsTextView]


class HostRuleBody(Body):
    """Replaces what was said of this host before."""

    delay_ms: Ms | None = Field(None, description="at least so long between two requests")
    blocked_in_ms: int | None = Field(
        None, ge=1, le=YEAR_MS, description="for so long nothing is asked of it, from now on"
    )
    reason: ReasonText = ""

    @model_validator(mode="after")
    def _something(self) -> "HostRuleBody":
        if self.delay_ms is None and self.blocked_in_ms is None:
            raise ValueError("give delay_ms, blocked_in_ms or both; DELETE removes the rule")
        return self
