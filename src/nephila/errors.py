"""Our own faults. The web's misbehaviour is never an exception: it is a value (models.Outcome).

NephilaError            one clear line for the user, no traceback
+-- UsageError          what the user asked for makes no sense (exit code 2)
|   +-- StoreVersionError   the store was written by a newer version
+-- StoreUnavailable    the store cannot be written now; nothing is lost, try again
|   +-- DiskFull        no space left: the crawl waits until there is
+-- Fenced              another process has taken over this session's work: drop the batch, start anew
+-- ArchiveError        an archive file cannot be read or does not hold what a row says
"""


class NephilaError(Exception):
    """Its text is one line that says what is wrong and what to do."""


class UsageError(NephilaError):
    pass


class StoreVersionError(UsageError):
    pass


class StoreUnavailable(NephilaError):
    pass


class DiskFull(StoreUnavailable):
    pass


class Fenced(NephilaError):
    pass


class ArchiveError(NephilaError):
    pass
