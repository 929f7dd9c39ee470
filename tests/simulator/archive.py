"""`MemoryArchive`: an archive whose bytes are lost with their process unless they were synced."""

from collections.abc import Iterator

from nephila.archive.archive import Exchange, TornTail
from nephila.archive.member import Member
from nephila.archive.packing import Packing
from nephila.archive.record import Record
from nephila.models import ArchivePlace


class MemoryWriter:
    def __init__(self, archive: "MemoryArchive", session: str) -> None:
        self._archive = archive
        self._unsynced: list[tuple[ArchivePlace, str]] = []
        self._name = f"{session}.warc.gz"
        self._size = 0

    @property
    def files(self) -> dict[str, int]:
        return {self._name: self._size} if self._size else {}

    def append(self, exchange: Exchange) -> ArchivePlace:
        place = ArchivePlace(self._name, self._size, len(exchange.header_bytes) + len(exchange.body))
        self._unsynced.append((place, exchange.url))
        self._size += place.length
        return place

    def sync(self) -> None:
        for place, url in self._unsynced:
            self._archive.durable[place.file, place.offset] = url
        self._unsynced.clear()

    def committed(self) -> None: ...

    def discard(self) -> None:
        self._unsynced.clear()

    def close(self) -> None:
        self.sync()


class MemoryArchive:
    location = "memory"

    def __init__(self) -> None:
        self.durable: dict[tuple[str, int], str] = {}  # file, offset -> URL

    def prepare(self) -> None: ...

    def writer(self, session: str) -> MemoryWriter:
        return MemoryWriter(self, session)

    def has(self, file: str) -> bool:
        return True

    def recover(self, file: str, good_until: int = 0) -> TornTail | None:
        return None

    def read(self, place: ArchivePlace) -> Record:
        raise NotImplementedError

    def members(self, file: str, start: int = 0) -> Iterator[tuple[int, Member]]:
        raise NotImplementedError

    def packing(self, file: str) -> Packing:
        raise NotImplementedError

    def stretch(self, file: str, start: int, length: int) -> bytes:
        raise NotImplementedError

    def pieces(self, file: str, size: int) -> Iterator[bytes]:
        raise NotImplementedError

    def files(self) -> dict[str, int]:
        raise NotImplementedError

    def remove(self, file: str) -> None:
        raise NotImplementedError
