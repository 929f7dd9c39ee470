"""Starting, steering and deleting crawls. The command line and the API call these."""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nephila.errors import StoreUnavailable, UsageError
from nephila.fetch.guard import judge_url
from nephila.frontier.store import Catalog, Crawl, Upkeep
from nephila.models import Child, CrawlState, Kind, Reason
from nephila.policy.priority import priority_of
from nephila.profiles import CrawlSettings
from nephila.urls.admission import Admission
from nephila.urls.normalize import parse

SEEDS_MAX = 10_000_000
PURGE_ROWS = 5000
ACKNOWLEDGE_SECONDS = 10.0
INTERRUPTED = "interrupted"


class Unknown(UsageError):
    """There is no such thing."""


class Conflict(UsageError):
    """What is asked for contradicts what is."""


def seed_url(text: str) -> str:
    """A URL, or a bare domain: https://domain/."""
    text = text.strip()
    candidate = text if "://" in text else f"https://{text}"
    # A bare domain has no user: `mailto:x@example.com` is none.
    plausible = text and " " not in text and ("://" in text or "@" not in text)
    url = parse(candidate, None) if plausible else None
    if url is None or not url.startswith(("http://", "https://")):
        raise UsageError(f"{text!r} is no web address: give a URL like https://example.com/ or a domain")
    return url


def read_seeds(lines: Iterable[str], source: str) -> list[str]:
    """One URL or bare domain per line; empty lines and lines that start with # are passed over."""
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


def checked_seeds(seeds: Sequence[str]) -> list[str]:
    """Each once."""
    checked = list(dict.fromkeys(seed_url(seed) for seed in seeds))
    if not checked:
        raise UsageError("nothing to crawl: give at least one URL")
    return checked


def start(catalog: Catalog, seeds: Sequence[str], settings: CrawlSettings) -> tuple[Crawl, bool]:
    """The crawl, and whether it is new: the same seeds and settings, unfinished, go on."""
    seeds = checked_seeds(seeds)
    children = _children(seeds, settings)
    mark = fingerprint(seeds, settings)
    known = catalog.unfinished(mark)
    interrupt_others(catalog, known)
    if known is not None:
        return _go_on(catalog, known, children), False
    crawl = catalog.create_crawl(seeds, settings, mark)
    catalog.attend(crawl.id)
    _seed(catalog, crawl.id, children)
    return catalog.crawl(crawl.id), True


def create(
    catalog: Catalog, seeds: Sequence[str], settings: CrawlSettings, key: str = "", created_by: str = ""
) -> Crawl:
    """Always a new crawl, unless the same request (`key`) has made one. Whatever can be wrong is found before."""
    seeds = checked_seeds(seeds)
    children = _children(seeds, settings)
    try:
        crawl = catalog.create_crawl(seeds, settings, fingerprint(seeds, settings), key, created_by)
    except UsageError as error:
        raise Conflict(str(error)) from None
    catalog.attend(crawl.id)
    if crawl.seeding:
        _seed(catalog, crawl.id, children)
    return catalog.crawl(crawl.id)


def take_up(catalog: Catalog) -> list[int]:
    """A server sees to every crawl that runs, also to those whose server died: their seeds may be half added."""
    running = [crawl for crawl in catalog.crawls() if crawl.state is CrawlState.RUNNING]
    for crawl in running:
        catalog.attend(crawl.id)
        if crawl.seeding:
            _seed(catalog, crawl.id, _children(crawl.seeds, crawl.settings))
    return [crawl.id for crawl in running]


def go_on(catalog: Catalog, crawl_id: int) -> Crawl:
    """As `resume`, of this crawl alone."""
    crawl = resumable(catalog, crawl_id)
    return _go_on(catalog, crawl, _children(crawl.seeds, crawl.settings) if crawl.seeding else [])


def find(catalog: Catalog, reference: str) -> Crawl:
    """By its number or its uuid."""
    try:
        found = catalog.crawl(int(reference)) if reference.isdecimal() else catalog.crawl_by_uuid(reference.lower())
    except UsageError:
        found = None
    if found is None:
        raise Unknown(f"there is no crawl {reference}")
    return found


def resume(catalog: Catalog, crawl_id: int | None) -> Crawl:
    """Go on with this crawl, or with the latest unfinished one."""
    crawl = resumable(catalog, crawl_id)
    interrupt_others(catalog, crawl)
    return _go_on(catalog, crawl, _children(crawl.seeds, crawl.settings) if crawl.seeding else [])


def _go_on(catalog: Catalog, crawl: Crawl, children: list[Child]) -> Crawl:
    catalog.attend(crawl.id)
    if crawl.seeding:  # it died while its seeds were being added
        _seed(catalog, crawl.id, children)
    if crawl.state is not CrawlState.ENDING:  # what a limit or a cancel began goes on to its end
        catalog.steer(crawl.id, CrawlState.RUNNING)
    return catalog.crawl(crawl.id)


def _seed(catalog: Catalog, crawl_id: int, children: list[Child]) -> None:
    catalog.add_seeds(crawl_id, (_owned(child, crawl_id) for child in children))
    catalog.seeded(crawl_id)


def _owned(child: Child, crawl_id: int) -> Child:
    return Child(crawl_id, child.host, child.key, child.url, child.depth, child.priority, None, child.raw)


def _children(seeds: Sequence[str], settings: CrawlSettings) -> list[Child]:
    admission = Admission(settings, seeds)
    children = []
    for seed in seeds:
        judgement = admission.judge(seed, None, 0)
        if judgement.found is None:
            raise UsageError(
                f"the seed {seed} is refused by the crawl's own rules ({judgement.refusal}): {judgement.detail}"
            )
        guard = judge_url(judgement.found.url)
        if not guard.ok and not settings.fetch.allow_private:
            raise UsageError(
                f"{seed} is a private address ({guard.detail}): "
                "say --allow-private (setting fetch.allow_private) if it is yours to crawl"
            )
        found = judgement.found
        children.append(Child(0, found.host, found.key, found.url, 0, priority_of(0, Kind.PAGE), None, seed))
    return children


def fingerprint(seeds: Sequence[str], settings: CrawlSettings) -> str:
    text = "\n".join(sorted(seeds)) + "\n" + settings.model_dump_json()
    return hashlib.sha256(text.encode()).hexdigest()


def interrupted(catalog: Catalog, crawl: Crawl) -> bool:
    """It says that it runs, but nobody sees to it and no worker lives: all were killed."""
    if crawl.state is not CrawlState.RUNNING or catalog.attended(crawl.id):
        return False
    return not any(worker.alive for worker in catalog.workers())


def interrupt_others(catalog: Catalog, wanted: Crawl | None) -> None:
    """Crawls whose processes were killed wait for `resume`: no other command takes them up."""
    for crawl in catalog.crawls():
        if (wanted is None or crawl.id != wanted.id) and interrupted(catalog, crawl):
            catalog.steer(crawl.id, CrawlState.PAUSED, INTERRUPTED)


def as_it_is(catalog: Catalog, crawl: Crawl) -> Crawl:
    """For those who look: a killed crawl is shown as the paused one that it will be."""
    return replace(crawl, state=CrawlState.PAUSED, reason=INTERRUPTED) if interrupted(catalog, crawl) else crawl


def resumable(catalog: Catalog, crawl_id: int | None) -> Crawl:
    crawl = catalog.crawl(crawl_id) if crawl_id is not None else latest(catalog, unfinished=True)
    if crawl.state.over:
        raise Conflict(f"crawl {crawl.id} is {crawl.state}: there is nothing to go on with")
    return crawl


def latest(catalog: Catalog, *, unfinished: bool = False) -> Crawl:
    crawls = [crawl for crawl in catalog.crawls() if not (unfinished and crawl.state.over)]
    if not crawls:
        what = "unfinished crawl" if unfinished else "crawl"
        raise UsageError(f"there is no {what} here: start with `nephila crawl URL`")
    return crawls[-1]


def pause(catalog: Catalog, crawl_id: int, reason: str = "") -> None:
    """Answers when no worker will start another request of it."""
    _await(catalog, catalog.steer(crawl_id, CrawlState.PAUSED, reason))


def cancel(catalog: Catalog, crawl_id: int) -> None:
    """Answers when no worker will start another request of it; its open URLs end `cancelled`."""
    _await(catalog, catalog.steer(crawl_id, CrawlState.ENDING, Reason.CANCELLED))


def change_limits(catalog: Catalog, crawl: Crawl, changes: Mapping[str, int | None]) -> Crawl:
    """By the names of profiles.LimitSettings. What a limit has ended stays ended, also when it is raised: some of its
    rows have ended already. Refused where the crawl is over or ending."""
    if crawl.state.over or crawl.state is CrawlState.ENDING:
        raise Conflict(f"crawl {crawl.id} is {crawl.state}: its limits cannot be changed any more")
    limits = crawl.settings.limits.model_copy(update=changes)
    if (limits.max_urls is None) is not (crawl.settings.limits.max_urls is None):
        raise Conflict("max_urls can be raised or lowered, but neither set nor removed while a crawl runs")
    catalog.change_settings(crawl.id, crawl.settings.model_copy(update={"limits": limits}))
    return catalog.crawl(crawl.id)


def _await(catalog: Catalog, version: int) -> None:
    end = time.monotonic() + ACKNOWLEDGE_SECONDS
    while not catalog.acknowledged(version):
        if time.monotonic() > end:
            raise StoreUnavailable("some worker has not answered yet: it is stopped or overloaded; ask again")
        time.sleep(0.02)


def delete(catalog: Catalog, upkeep: Upkeep, archive: Path, crawl_id: int) -> tuple[int, int]:
    """Its rows and the archive files that no other crawl uses; how many of each."""
    crawl = catalog.crawl(crawl_id)
    if crawl.state is CrawlState.RUNNING and any(worker.alive for worker in catalog.workers()):
        raise UsageError(f"crawl {crawl_id} is running: stop it first (Ctrl-C in its terminal)")
    files = catalog.delete(crawl_id)
    rows = 0
    while purged := upkeep.purge(crawl_id, PURGE_ROWS):
        rows += purged
    for name in files:
        (archive / name).unlink(missing_ok=True)
        catalog.forget_file(name)
    return rows, len(files)
