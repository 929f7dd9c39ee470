"""The background duty of whoever runs workers: fence the dead, close their archive files, end crawls, fold the log."""

from pathlib import Path

from nephila import log
from nephila.archive.recover import close_torn_tail
from nephila.errors import ArchiveError
from nephila.frontier.store import Upkeep


class Duty:
    def __init__(self, upkeep: Upkeep, archive: Path, *, shared: bool) -> None:
        """`shared`: a file that is not here may be on another machine, whose processes will look after it."""
        self.upkeep = upkeep
        self.archive = archive
        self.shared = shared

    def run_once(self) -> dict[str, int]:
        done = self.upkeep.run_once()
        done["files_closed"] = self.close_files()
        done["checkpointed"] = self.upkeep.checkpoint()
        return done

    def close_files(self) -> int:
        """Files of dead sessions: a torn tail is cut off and reported, so that no reader ever meets it."""
        closed = 0
        for name, durable in self.upkeep.abandoned_files():
            cut = 0
            if self.shared and not (self.archive / name).exists():
                continue
            try:
                torn = close_torn_tail(self.archive / name, durable)
                cut = torn.cut if torn else 0
            except (ArchiveError, FileNotFoundError) as error:
                log.component_log("upkeep").error("archive_file_lost", file=name, error=str(error))
            if cut:
                log.component_log("upkeep").warning("torn_tail_cut", file=name, bytes=cut)
            self.upkeep.file_closed(name, cut)
            closed += 1
        return closed
