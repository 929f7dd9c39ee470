"""The background duty of whoever runs workers: fence the dead, close their archive files, end crawls, fold the log."""

from nephila import log
from nephila.archive.archive import Archive
from nephila.errors import ArchiveError, ArchiveFileBusy
from nephila.frontier.upkeep import Upkeep


class Duty:
    def __init__(self, upkeep: Upkeep, archive: Archive, *, shared: bool) -> None:
        """`shared`: a file that is not here may be on another machine, whose processes will look after it."""
        self.upkeep = upkeep
        self.archive = archive
        self.shared = shared
        self._told: set[str] = set()  # files that are there and cannot be used now

    def run_once(self) -> dict[str, int]:
        done = self.upkeep.run_once()
        done["files_closed"] = self.close_files()
        done["checkpointed"] = self.upkeep.checkpoint()
        return done

    def close_files(self) -> int:
        """Close the files of sessions that are over: a torn tail is cut off and reported, so that no reader meets it.

        A file that a living process writes stays open: its session was fenced while it was frozen or cut off. It drops
        what it has not committed when it wakes up, or its death gives the file free.
        """
        return sum(self._close(name, durable) for name, durable in self.upkeep.abandoned_files())

    def _close(self, name: str, durable: int) -> bool:
        cut, log_event = 0, log.component_log("upkeep")
        if self.shared and not self.archive.has(name):
            return False
        try:
            torn = self.archive.recover(name, durable)
            cut = torn.cut if torn else 0
        except ArchiveFileBusy:
            return False
        except ArchiveError as error:
            if self.archive.has(name):
                if name not in self._told:
                    log_event.error("archive_file_not_closed", file=name, error=str(error))
                self._told.add(name)
                return False
            log_event.error("archive_file_lost", file=name, error=str(error))
        if cut:
            log_event.warning("torn_tail_cut", file=name, bytes=cut)
        self.upkeep.file_closed(name, cut)
        return True
