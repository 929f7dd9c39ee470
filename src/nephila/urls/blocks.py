"""URLs that an operator has blocked: a domain with all below it, or a pattern of the whole URL."""

from collections.abc import Sequence

from nephila.models import Decision, Reason
from nephila.urls.identity import hostname_of
from nephila.urls.scope import Patterns

ADMITTED = Decision(True)


class Blocks:
    """Falsy where nothing is blocked, so that the hot path need not ask."""

    def __init__(self, domains: Sequence[tuple[str, str]] = (), patterns: Sequence[tuple[str, str]] = ()) -> None:
        """Pairs of what is blocked and the reason that was given for it."""
        self._domains = dict(domains)
        self._reasons = dict(patterns)
        self._patterns = Patterns(list(self._reasons))

    def __bool__(self) -> bool:
        return bool(self._domains or self._reasons)

    def judge(self, url: str, spelling: str | None = None) -> Decision:
        """A URL is blocked where it or the spelling in which it is asked for is."""
        decision = self._judge(url)
        return self._judge(spelling) if decision.ok and spelling not in (None, url) else decision

    def _judge(self, url: str) -> Decision:
        if self._domains:
            name = hostname_of(url)
            while name:
                if name in self._domains:
                    return _refused(f"domain {name}", self._domains[name])
                name = name.partition(".")[2]
        if self._reasons and (pattern := self._patterns.first_match(url)) is not None:
            return _refused(f"pattern {pattern}", self._reasons[pattern])
        return ADMITTED


def _refused(what: str, reason: str) -> Decision:
    return Decision(False, Reason.RULE, f"{what} is blocked{f': {reason}' if reason else ''}")
