"""Starting, steering and deleting crawls. The command line and the API call these."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TypeVar

from nephila.archive.archive import Archive
from nephila.control.naming import checked_name, with_labels
from nephila.errors import StoreUnavailable, UsageError
from nephila.fetch.guard import judge_url
from nephila.frontier.catalog import Catalog
from nephila.frontier.crawls import CRAWLS_MAX, Crawls
from nephila.frontier.store import UNNAMED, Crawl, Naming
from nephila.frontier.upkeep import Upkeep
from nephila.models import Child, CrawlState, Kind, Reason
from nephila.policy.ending import LIMIT_REASONS, spent_limit, used_of
from nephila.policy.priority import priority_of
from nephila.profiles import CrawlSettings
from nephila.urls.admission import Admission
from nephila.urls.identity import EVERY_HOST, hostname_of
from nephila.urls.normalize import parse

SEEDS_MAX = 10_000_000
PURGE_ROWS = 5000
ACKNOWLEDGE_SECONDS = 10.0
INTERRUPTED = "interrupted"
Changes = Mapping[str, int | None]  # of limits, by the names of `LimitSettings`
NO_CHANGES: Changes = {}
SEEDS_TOLD = 1000  # seeds between two calls of a `Tell`
Tell = Callable[[str, int], None]  # what is done with the seeds, and with how many so far
LIFELONG_LIMITS = ("max_urls", "max_frontier")  # a crawl has them from its start to its end, or never

T = TypeVar("T")


class Unknown(UsageError):
    """What is asked for does not exist."""


class PrivateSeed(UsageError):
    """A seed that only its owner may crawl; `way`: what the owner says, at the door that the seed came through."""

    def __init__(self, seed: str, detail: str, way: str) -> None:
        super().__init__(f"{seed} is a private address ({detail}): {way}")
        self.seed, self.detail, self.way = seed, detail, way


class Conflict(UsageError):
    """What is asked for contradicts the state of the crawl."""


class LimitConflict(Conflict):
    """`text` has `{limit}` where the limit is named."""

    def __init__(self, limit: str, text: str, place: str = "") -> None:
        super().__init__(text.format(limit=place or limit))
        self.limit, self.text = limit, text

    def at(self, place: str) -> "LimitConflict":
        """The same in the words of the door that it came through."""
        return LimitConflict(self.limit, self.text, place)


def seed_url(text: str) -> str:
    """The URL that somebody wrote; a bare domain becomes https://domain/."""
    text = text.strip()
    candidate = text if "://" in text else f"https://{text}"
    # A bare domain has no user: `mailto:x@example.com` is none.
    plausible = text and " " not in text and ("://" in text or "@" not in text)
    url = parse(candidate, None) if plausible else None
    if url is None or not url.startswith(("http://", "https://")):
        raise UsageError(f"{text!r} is no web address: give a URL like https://example.com/ or a domain")
    if "://" not in text and _is_word(hostname_of(url)):
        raise UsageError(f"{text!r} is a word, no web address: if it is the name of a host, give http://{text}")
    return url


def _is_word(hostname: str) -> bool:
    """A name without a dot: of a host in one's own network at most, and often meant as something else."""
    return "." not in hostname and ":" not in hostname and hostname != "localhost"


def read_seeds(lines: Iterable[str], source: str) -> list[str]:
    """The seeds of a file: one URL or bare domain per line; empty lines and lines that start with # are passed over."""
    seeds = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                seeds.append(seed_url(text))
            except UsageError as error:
                raise UsageError(f"{source}, line {number}: {error}") from None
        if len(seeds) > SEEDS_MAX:
            raise UsageError(f"{source} has more than {SEEDS_MAX:,} seeds: split it over several crawls")
    return seeds


def sitemap_seeds(settings: CrawlSettings) -> list[str]:
    """The sitemaps that a crawl is started with."""
    return [seed_url(url) for url in settings.sitemaps.urls]


def checked_seeds(seeds: Sequence[str], settings: CrawlSettings | None = None) -> list[str]:
    """The seeds as URLs, each once, with the sitemaps that the settings name among them."""
    sitemaps = sitemap_seeds(settings) if settings is not None else []
    checked = list(dict.fromkeys([*(seed_url(seed) for seed in seeds), *sitemaps]))
    if not checked:
        raise UsageError("nothing to crawl: give at least one URL")
    return checked


def _tell_nobody(what: str, done: int) -> None:
    pass


class Begin(Enum):
    """How a command comes to its crawl."""

    NEW = "new"
    RESUMED = "resumed"
    JOINED = "joined"  # others work on it already, and it goes on without this command


def start(
    catalog: Catalog,
    seeds: Sequence[str],
    settings: CrawlSettings,
    tell: Tell = _tell_nobody,
    naming: Naming = UNNAMED,
) -> tuple[Crawl, Begin]:
    """The crawl: an unfinished one with the same seeds and settings, else a new one. It is called as `naming` says; one
    that is there keeps what that leaves out. `tell` is called now and then: a million seeds take a minute."""
    seeds = checked_seeds(seeds, settings)
    children = _children(seeds, settings, tell)
    mark = fingerprint(seeds, settings)
    known = catalog.unfinished(mark)
    interrupt_others(catalog, known)
    if known is not None:
        rename(catalog, known, naming.name or None, naming.labels)
        return _joined_or_resumed(catalog, known)
    crawl = catalog.create_crawl(seeds, settings, mark, naming=naming)
    _look_after(catalog, crawl, _told(children, "stored", tell))
    return catalog.crawl(crawl.id), Begin.NEW


def rename(
    catalog: Catalog, crawl: Crawl, name: str | None, added: Sequence[str] = (), removed: Sequence[str] = ()
) -> Crawl:
    """The crawl with another name (None: the one that it has; empty: none) and other labels."""
    kept, labels = crawl.naming, with_labels(crawl.naming.labels, added, removed)
    naming = Naming(kept.name if name is None else checked_name(name), labels)
    if naming == kept:
        return crawl
    catalog.set_naming(crawl.id, naming)
    return replace(crawl, naming=naming)


def _told(seeds: Iterable[T], what: str, tell: Tell) -> Iterator[T]:
    for done, seed in enumerate(seeds, 1):
        yield seed
        if done % SEEDS_TOLD == 0:
            tell(what, done)


def create(
    catalog: Catalog,
    seeds: Sequence[str],
    settings: CrawlSettings,
    key: str = "",
    created_by: str = "",
    naming: Naming = UNNAMED,
) -> Crawl:
    """A new crawl, unless the same request (`key`) has made one. Seeds and settings are checked before it is made."""
    sent, seeds = seeds[0] if seeds else "", checked_seeds(seeds, settings)
    children = _children(seeds, settings)
    try:
        crawl = catalog.create_crawl(seeds, settings, fingerprint(seeds, settings), key, created_by, sent, naming)
    except UsageError as error:
        raise Conflict(str(error)) from None
    _look_after(catalog, crawl, children)
    return catalog.crawl(crawl.id)


def adopt_running(catalog: Catalog) -> list[int]:
    """Make this server responsible for every running crawl, also for those of a server that died; their ids."""
    running = [crawl for crawl in catalog.open_crawls() if crawl.state is CrawlState.RUNNING]
    for crawl in running:
        _look_after(catalog, crawl)
    return [crawl.id for crawl in running]


def go_on(catalog: Catalog, crawl_id: int, limits: Changes = NO_CHANGES) -> Crawl:
    """Resume this crawl, with other limits where some are given, and leave all others as they are."""
    return _go_on(catalog, resumable(catalog, crawl_id, limits))


def find(catalog: Catalog, reference: str) -> Crawl:
    """The crawl of this number or uuid."""
    try:
        found = catalog.crawl(int(reference)) if reference.isdecimal() else catalog.crawl_by_uuid(reference.lower())
    except UsageError:
        found = None
    if found is None:
        raise Unknown(f"there is no crawl {reference}")
    return found


def resume(catalog: Catalog, crawl_id: int | None, limits: Changes = NO_CHANGES) -> tuple[Crawl, Begin]:
    """Resume this crawl, or the latest unfinished one, with other limits where some are given; others whose processes
    were killed are marked interrupted."""
    crawl = resumable(catalog, crawl_id, limits)
    interrupt_others(catalog, crawl)
    return _joined_or_resumed(catalog, crawl)


def _joined_or_resumed(catalog: Catalog, crawl: Crawl) -> tuple[Crawl, Begin]:
    """The crawl, gone on with. Joined: it runs, and workers live; those of a command that was just killed may, too."""
    running = crawl.state is CrawlState.RUNNING and not crawl.seeding
    joined = running and any(worker.alive for worker in catalog.workers())
    return _go_on(catalog, crawl), Begin.JOINED if joined else Begin.RESUMED


def _go_on(catalog: Catalog, crawl: Crawl) -> Crawl:
    _look_after(catalog, crawl)
    if crawl.state is not CrawlState.ENDING:  # a limit or a cancel has begun to end it, and that goes on
        catalog.steer(crawl.id, CrawlState.RUNNING)
    return catalog.crawl(crawl.id)


def _look_after(catalog: Catalog, crawl: Crawl, children: Iterable[Child] | None = None) -> None:
    """Make this process responsible for the crawl and add its seeds and the URLs that a limit had ended, if they are
    not all added yet: it is new or goes on after a limit, or its process died meanwhile. `children`: the seeds, where
    they are made already."""
    catalog.look_after(crawl.id)
    if crawl.seeding:
        seeds = _children(crawl.seeds, crawl.settings) if children is None else children
        catalog.add_seeds(crawl.id, (seed._replace(crawl=crawl.id) for seed in seeds))
        catalog.open_again(crawl.id)
        catalog.seeded(crawl.id)


def _children(seeds: Sequence[str], settings: CrawlSettings, tell: Tell = _tell_nobody) -> list[Child]:
    """The seeds as rows to insert, of a crawl that has no number yet. UsageError: a seed cannot be crawled."""
    admission, sitemaps = Admission(settings, seeds), set(sitemap_seeds(settings))
    children = []
    for seed in _told(seeds, "checked", tell):
        kind = Kind.SITEMAP if seed in sitemaps else Kind.PAGE
        listing = kind is Kind.SITEMAP
        judgement = admission.judge_sitemap(seed, None, EVERY_HOST) if listing else admission.judge(seed, None, 0)
        found = judgement.found
        if found is None:
            raise UsageError(
                f"the seed {seed} is refused by the crawl's own rules ({judgement.refusal}): {judgement.detail}"
            )
        if not settings.fetch.allow_private and not (guard := judge_url(found.spelling or found.url)).ok:
            raise PrivateSeed(seed, guard.detail, "set fetch.allow_private if it is yours to crawl")
        place = (0, found.host, found.key, found.url, 0, priority_of(0, kind), None)
        children.append(Child(*place, EVERY_HOST if listing else seed, found.spelling, kind))
    return children


def fingerprint(seeds: Sequence[str], settings: CrawlSettings) -> str:
    text = "\n".join(sorted(seeds)) + "\n" + settings.model_dump_json()
    return hashlib.sha256(text.encode()).hexdigest()


def interrupted(catalog: Catalog, crawl: Crawl) -> bool:
    """Whether its state is `running`, but no process is responsible for it and no worker lives: all were killed."""
    if crawl.state is not CrawlState.RUNNING or catalog.is_looked_after(crawl.id):
        return False
    return not any(worker.alive for worker in catalog.workers())


def interrupt_others(catalog: Catalog, wanted: Crawl | None) -> None:
    """Pause all other crawls whose processes were killed: they wait for `resume`."""
    for crawl in catalog.open_crawls():
        if (wanted is None or crawl.id != wanted.id) and interrupted(catalog, crawl):
            catalog.steer(crawl.id, CrawlState.PAUSED, INTERRUPTED)


def paused_if_interrupted(catalog: Catalog, crawl: Crawl) -> Crawl:
    """The crawl as it is shown: one whose processes were killed is `paused`, which the next command makes of it."""
    return replace(crawl, state=CrawlState.PAUSED, reason=INTERRUPTED) if interrupted(catalog, crawl) else crawl


def resumable(catalog: Catalog, crawl_id: int | None, limits: Changes = NO_CHANGES) -> Crawl:
    """The crawl, with these limits: it can go on."""
    crawl = catalog.crawl(crawl_id) if crawl_id is not None else latest(catalog, unfinished=True)
    if not crawl.state.over:
        return change_limits(catalog, crawl, limits) if limits else crawl
    if crawl.state is not CrawlState.COMPLETED or crawl.reason not in LIMIT_REASONS:
        kept = ", and links that max_urls refused are not kept" if crawl.limited_by == "max_urls" else ""
        raise Conflict(f"crawl {crawl.id} is {crawl.state}: there is nothing to go on with{kept}")
    return _beyond_limit(catalog, crawl, limits)


def _beyond_limit(catalog: Catalog, crawl: Crawl, changes: Changes) -> Crawl:
    """The crawl, which a limit has ended, running again; the URLs that the limit ended are not open yet."""
    settings = _with_limits(crawl, changes)
    used = used_of(catalog.tallies(crawl.id), crawl.active_ms)
    if spent := spent_limit(settings.limits, used):
        text = f"crawl {crawl.id} is {crawl.state} and has used {used[spent]:,} of {{limit}}: give a higher {{limit}}"
        raise LimitConflict(spent, text)
    catalog.look_after(crawl.id)
    if not catalog.reopen(crawl.id, settings):
        raise Conflict(f"crawl {crawl.id} was changed meanwhile: look at it and try again")
    return catalog.crawl(crawl.id)


def latest(catalog: Catalog, *, unfinished: bool = False) -> Crawl:
    newest = catalog.open_crawls()[-1:] if unfinished else catalog.crawls(limit=1)
    if not newest:
        what = "unfinished crawl" if unfinished else "crawl"
        raise UsageError(f"there is no {what} here: start with `nephila crawl URL`")
    return newest[0]


def only(catalog: Catalog, *states: CrawlState) -> Crawl:
    """The one crawl in these states. UsageError where there is none, and where there are several: nobody guesses."""
    found = [crawl for crawl in catalog.open_crawls() if crawl.state in states]
    if not found:
        raise UsageError(f"no crawl is {' or '.join(states)} here")
    if len(found) > 1:
        numbers = ", ".join(str(crawl.id) for crawl in found)
        raise UsageError(f"several crawls are {' or '.join(states)}: give the number of one ({numbers})")
    return found[0]


def every_crawl(catalog: Crawls, before: int = 0, page_rows: int = CRAWLS_MAX) -> Iterator[Crawl]:
    """The newest first, those with ids below `before` (0: all), read page by page as they are asked for."""
    while page := catalog.crawls(before, page_rows):
        yield from page
        before = page[-1].id


def check_pausable(crawl: Crawl) -> None:
    if crawl.state.over or crawl.state is CrawlState.ENDING:
        raise Conflict(f"crawl {crawl.id} is {crawl.state}: it cannot be paused any more")


def check_cancellable(crawl: Crawl) -> None:
    if crawl.state.over:
        raise Conflict(f"crawl {crawl.id} is {crawl.state}: it cannot be cancelled any more")


def pause(catalog: Catalog, crawl_id: int, reason: str = "") -> None:
    """Pause a crawl; returns when no worker will start another request of it."""
    _await(catalog, catalog.steer(crawl_id, CrawlState.PAUSED, reason))


def cancel(catalog: Catalog, crawl_id: int) -> None:
    """Cancel a crawl; returns when no worker will start another request of it. Its open URLs end `cancelled`."""
    _await(catalog, catalog.steer(crawl_id, CrawlState.ENDING, Reason.CANCELLED))


def is_left_alone(catalog: Catalog) -> bool:
    """Whether no worker lives, and one that came now would find no crawl to crawl."""
    if any(worker.alive for worker in catalog.workers()):
        return False
    return all(crawl.state is not CrawlState.RUNNING for crawl in catalog.open_crawls())


def change_limits(catalog: Catalog, crawl: Crawl, changes: Changes) -> Crawl:
    """Set limits of a crawl that is neither over nor ending: of one that is they have ended some rows already."""
    if crawl.state.over or crawl.state is CrawlState.ENDING:
        raise Conflict(f"crawl {crawl.id} is {crawl.state}: its limits cannot be changed any more")
    catalog.change_settings(crawl.id, _with_limits(crawl, changes))
    return catalog.crawl(crawl.id)


def _with_limits(crawl: Crawl, changes: Changes) -> CrawlSettings:
    limits = crawl.settings.limits.model_copy(update=changes)
    for name in LIFELONG_LIMITS:
        if (getattr(limits, name) is None) is not (getattr(crawl.settings.limits, name) is None):
            text = "{limit} can be raised or lowered, but neither set nor removed while a crawl runs"
            raise LimitConflict(name, text)
    return crawl.settings.model_copy(update={"limits": limits})


def _await(catalog: Catalog, version: int) -> None:
    end = time.monotonic() + ACKNOWLEDGE_SECONDS
    while not catalog.acknowledged(version):
        if time.monotonic() > end:
            raise StoreUnavailable("some worker has not answered yet: it is stopped or overloaded; ask again")
        time.sleep(0.02)


def delete(
    catalog: Catalog,
    upkeep: Upkeep,
    archive: Archive,
    crawl_id: int,
    tell: Callable[[str], None] = lambda step: None,
) -> tuple[int, int]:
    """Its rows and the archive files that no other crawl uses; how many of each. `tell` is told what is being done."""
    crawl = catalog.crawl(crawl_id)
    if crawl.state is CrawlState.RUNNING and any(worker.alive for worker in catalog.workers()):
        raise UsageError(f"crawl {crawl_id} is running: stop it first (Ctrl-C in its terminal)")
    files = catalog.delete(crawl_id)
    rows = 0
    while purged := upkeep.purge(crawl_id, PURGE_ROWS):
        rows += purged
        upkeep.checkpoint()  # a log that grows with the crawl is read slower and slower
        tell(f"{rows:,} rows are deleted")
    for name in files:
        archive.remove(name)
        catalog.forget_file(name)
    upkeep.give_back(lambda left: tell(f"{left // 1_000_000:,} MB to give back to the disk"))
    return rows, len(files)
