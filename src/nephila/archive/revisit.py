"""Which stored responses a revisit record may refer to."""

from collections import OrderedDict
from dataclasses import dataclass

from nephila.models import ArchivePlace


@dataclass(frozen=True, slots=True)
class Original:
    """A stored response that a revisit record may refer to."""

    record_id: str
    url: str
    fetched_at: int
    place: ArchivePlace


class Originals:
    """At most `max` originals by payload digest; the least recently used are forgotten first.

    A response waits until it is durable and its row is committed: a record that no row names may be purged as an
    orphan, and the pages that had become revisits of it would be lost.
    """

    def __init__(self, max: int) -> None:
        self._max = max
        self._known: OrderedDict[bytes, Original] = OrderedDict()
        self._appended: dict[bytes, Original] = {}
        self._synced: dict[bytes, Original] = {}

    def get(self, digest: bytes) -> Original | None:
        original = self._known.get(digest)
        if original is not None:
            self._known.move_to_end(digest)
        return original

    def add(self, digest: bytes, original: Original) -> None:
        if len(self._appended) + len(self._synced) < self._max:
            self._appended.setdefault(digest, original)

    def synced(self) -> None:
        self._synced |= self._appended
        self._appended = {}

    def committed(self) -> None:
        self._known |= self._synced
        self._synced = {}
        while len(self._known) > self._max:
            self._known.popitem(last=False)

    def discard(self) -> None:
        self._appended = {}
        self._synced = {}

    def forget_all(self) -> None:
        self.discard()
        self._known.clear()
