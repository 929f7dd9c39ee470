"""All that the command line and the API read and write: the sum of eight small parts, over one connection.

A caller that needs one of them takes that one. A dialect adds how seeds are inserted and which index serves a listing.
"""

from nephila.frontier.archive_index import ArchiveIndex
from nephila.frontier.changes import Changes
from nephila.frontier.checks import Checks
from nephila.frontier.counterparts import Counterparts
from nephila.frontier.crawls import Crawls
from nephila.frontier.history import Histories
from nephila.frontier.host_lists import HostLists
from nephila.frontier.hosts import Hosts
from nephila.frontier.sitemaps import Sitemaps


class Catalog(Crawls, Changes, HostLists, Hosts, ArchiveIndex, Counterparts, Sitemaps, Histories, Checks):
    """What `wiring.Store` hands around."""
