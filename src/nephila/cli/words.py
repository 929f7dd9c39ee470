"""Numbers as people read and write them: durations, sizes, counts; and the sentence on how far a crawl is."""

import re

from nephila.control.progress import Bound, Resting, Snapshot
from nephila.errors import UsageError
from nephila.models import CrawlState

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?\s*")
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?", re.IGNORECASE)
SIZE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def parse_duration(text: str, option: str) -> float:
    """Seconds of `90`, `90s`, `10m`, `1h30m`."""
    parts = list(_DURATION_PART.finditer(text.strip().lower()))
    if not parts or "".join(part[0] for part in parts) != text.strip().lower():
        raise UsageError(f"{option} cannot be {text!r}: write seconds (0 or more), or a time like 90s, 10m or 2h")
    return sum(float(part[1]) * _SECONDS[part[2] or "s"] for part in parts)


def parse_size(text: str, option: str) -> int:
    """Bytes of `5000`, `10MB`, `1.5GiB`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].lower() not in _BYTES:
        raise UsageError(f"{option} cannot be {text!r}: write bytes, or a size like 500kB, 10MB or 2GiB")
    return int(float(match[1]) * _BYTES[match[2].lower()])


def count(number: int) -> str:
    return f"{number:,}"


def urls(number: int) -> str:
    return f"{number:,} URL" if number == 1 else f"{number:,} URLs"


def at_least(number: int, more: bool) -> str:
    """`more`: counting stopped there."""
    return f"{number:,}+" if more else f"{number:,}"


def size(number: float) -> str:
    unit = 0
    while number >= 999.5 and unit < len(SIZE_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.0f} {SIZE_UNITS[unit]}" if unit == 0 or number >= 99.5 else f"{number:.1f} {SIZE_UNITS[unit]}"


def duration(ms: float) -> str:
    """A duration in at most two units: 250 ms, 1.5 s, 4 min, 2 h 5 min, 3 d 4 h."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 10 and ms % 1000:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours = round(minutes / 60) if minutes >= 48 * 60 else minutes // 60
    if hours < 48:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def rate(per_second: float) -> str:
    if per_second >= 9.95 or per_second == 0:
        return f"{per_second:,.0f}/s"
    return f"{per_second:.1f}/s" if per_second >= 0.095 else f"{per_second * 60:.1f}/min"


def bound(found: Bound) -> str:
    return f"bounded by {found.host} ({duration(found.delay_ms)} delay, {count(found.queued)} queued)"


def resting(found: Resting) -> str:
    return f"{found.host} rests for {duration(found.in_ms)} more{f' ({found.reason})' if found.reason else ''}"


def progress(snapshot: Snapshot) -> str:
    """`1,204 of about 3,900 URLs, 12/s, done in about 4 min; bounded by docs.example.org (1 s delay, 2,310 queued)`"""
    done, known = snapshot.ended, snapshot.known
    about = "" if snapshot.crawl.state.over else "about "
    parts = [f"{count(done)} of {about}{count(known)} URLs"]
    if (needed := snapshot.requisites).urls:
        parts.append(f"{count(sum(needed.states.values()))} of {about}{count(needed.urls)} requisites")
    if snapshot.rate is not None and not snapshot.crawl.state.over:
        parts.append(rate(snapshot.rate))
    if snapshot.waiting:
        return f"{', '.join(parts)}; waiting: {snapshot.waiting}"
    if snapshot.crawl.state is CrawlState.PAUSED:
        return f"{', '.join(parts)}; paused{f': {snapshot.crawl.reason}' if snapshot.crawl.reason else ''}"
    if snapshot.resting is not None:
        return f"{', '.join(parts)}; waiting: {resting(snapshot.resting)}"
    if snapshot.eta_ms and snapshot.workers:
        parts.append(f"done in about {duration(max(1000, snapshot.eta_ms))}")
    elif snapshot.eta_ms:
        parts.append(f"needs about {duration(max(1000, snapshot.eta_ms))} more")
    sentence = ", ".join(parts)
    return f"{sentence}; {bound(snapshot.bound)}" if snapshot.bound and snapshot.bound.delay_ms else sentence
