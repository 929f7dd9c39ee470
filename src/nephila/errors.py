"""Our own faults. The web's misbehaviour is never an exception: it is a value (`FetchResult`, `Outcome`).

NephilaError            one clear line for the user, no traceback
+-- UsageError          what the user asked for makes no sense (exit code 2)
|   +-- SettingRefused  a setting does not take this value
|   +-- UnknownSetting  there is no setting of this name
|   +-- StoreVersionError   the store was written by a newer version
+-- StoreUnavailable    the store cannot be written now; nothing is lost, try again
|   +-- DiskFull        no space left: the crawl waits until there is
|   +-- ArchiveUnavailable  the archive cannot be written now (an ArchiveError, too)
|   +-- StoreBusy       another process has been writing for too long (exit code 75)
|   +-- StoreDamaged    what is stored cannot be read: trying again does not help, the crawl stops
+-- Fenced              another process has taken over this session's work: drop the batch, start anew
+-- ArchiveError        an archive file cannot be read or does not hold what a row says
    +-- ArchiveFileBusy     a living process writes it: look again later
"""


class NephilaError(Exception):
    """A fault whose text is one line that says what is wrong and what to do."""


class UsageError(NephilaError):
    pass


class SettingRefused(UsageError):
    """`value` as it is shown, and why it is refused. Whoever was handed the setting says where: `at`."""

    def __init__(self, setting: str, value: str, why: str, place: str = "") -> None:
        super().__init__(f"{place or f'setting {setting}'} cannot be {value}: {why}")
        self.setting, self.value, self.why = setting, value, why

    def at(self, place: str) -> "SettingRefused":
        """The same in the words of the door that it came through: an option, a field."""
        return SettingRefused(self.setting, self.value, self.why, place)


class UnknownSetting(UsageError):
    def __init__(self, setting: str, place: str = "", known: str = "`nephila settings` lists them all") -> None:
        super().__init__(f"{place}unknown setting {setting!r}: {known}")
        self.setting = setting


class StoreVersionError(UsageError):
    pass


class StoreUnavailable(NephilaError):
    pass


class DiskFull(StoreUnavailable):
    pass


class StoreBusy(StoreUnavailable):
    pass


class StoreDamaged(StoreUnavailable):
    pass


class Fenced(NephilaError):
    pass


class ArchiveError(NephilaError):
    pass


class ArchiveUnavailable(StoreUnavailable, ArchiveError):
    pass


class ArchiveFileGone(ArchiveUnavailable):
    """Somebody removed the file under its writer: what is not committed must be written again, elsewhere."""


class ArchiveFileBusy(ArchiveError):
    pass
