"""Static rules against URLs that are not worth a request: too long, too deep, in circles, no page by their ending."""

from nephila.models import Refusal
from nephila.profiles import ScopeSettings

Trapped = tuple[Refusal, str] | None  # the refusal and its detail


class Traps:
    __slots__ = ("_repeats_max", "_segments_max", "extensions_skipped", "length_max")

    def __init__(self, scope: ScopeSettings) -> None:
        self.length_max = scope.url_length_max
        self._segments_max = scope.path_segments_max
        self._repeats_max = scope.path_repeats_max
        self.extensions_skipped = (
            frozenset() if scope.include_documents else frozenset(map(str.lower, scope.skip_extensions))
        )

    def has_room(self, parent: str) -> bool:
        """May any one segment follow this URL without striking a rule of `path`? False decides nothing."""
        parts = parent.split("/")
        return len(parts) < self._segments_max and max(map(parts.count, set(parts))) < self._repeats_max

    def length(self, url: str) -> Trapped:
        if len(url) <= self.length_max:
            return None
        return Refusal.LENGTH, f"{len(url)} characters, at most {self.length_max}"

    def extension(self, url: str) -> Trapped:
        end = _path_end(url)
        dot = url.rfind(".", url.rfind("/", 0, end), end)
        if dot < 0 or (ending := url[dot:end].lower()) not in self.extensions_skipped:
            return None
        return Refusal.EXTENSION, f"paths that end in {ending} are skipped"

    def path(self, url: str) -> Trapped:
        segments = url[url.index("/", 8) + 1 : _path_end(url)].removesuffix("/").split("/")
        if len(segments) > self._segments_max:
            return Refusal.PATH_SEGMENTS, f"{len(segments)} path segments, at most {self._segments_max}"
        if len(segments) - len(set(segments)) < self._repeats_max:
            return None
        return self._repeats(segments)

    def _repeats(self, segments: list[str]) -> Trapped:
        often = max(set(segments), key=lambda segment: (segments.count(segment), segment))
        times = segments.count(often)
        if times <= self._repeats_max:
            return None
        return Refusal.PATH_REPEATS, f"path segment {often!r} comes {times} times, at most {self._repeats_max}"


def _path_end(url: str) -> int:
    query = url.find("?")
    return len(url) if query < 0 else query
