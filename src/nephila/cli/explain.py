"""`nephila explain`: why a URL is in its state, since when, until when."""

from collections.abc import Iterable

from nephila.cli import words
from nephila.cli.options import DATA, CrawlAndUrl, JsonOption, crawl_and_url, open_store, with_settings
from nephila.cli.output import print_json, print_lines
from nephila.control import explain as explaining
from nephila.control.explain import Ancestor, Explanation, RobotsVerdict, RuleVerdict
from nephila.control.export import iso_time
from nephila.control.sitemaps import how_found
from nephila.frontier.operators import HostRule
from nephila.frontier.records import UrlRow
from nephila.models import Kind
from nephila.settings import ProcessSettings, user_agent_of

MARKS = {True: "yes", False: "NO", None: "-"}
LABEL_WIDTH = 12


@with_settings(*DATA)
def explain(target: CrawlAndUrl, *, settings: ProcessSettings, json: JsonOption = False) -> None:
    """The whole decision trail of a URL, also of one that was refused or never seen."""
    opened = open_store(settings)
    crawl, url = crawl_and_url(opened.catalog, target)
    agent = user_agent_of(crawl.settings, settings)
    found = explaining.explain(opened.catalog, opened.rulebook.rulings(), crawl, url, agent)
    print_json(found.as_json()) if json else print_lines(explanation_lines(found))


def explanation_lines(found: Explanation) -> list[str]:
    lines = [found.verdict, ""]
    lines += _section("URL", _address(found))
    lines += _section("rules", (f"{MARKS[rule.passed]:<4}{_rule(rule)}" for rule in found.rules))
    lines += _section("row", _row(found.row) if found.row else [f"crawl {found.crawl} has none"])
    lines += _section("found on", _parents(found))
    lines += _section("sitemap", _sitemap(found))
    lines += _section("led to", (_ancestor(target) for target in found.redirects))
    lines += _section("robots.txt", _robots(found.robots) if found.robots else [])
    lines += _section("queue", _queue(found))
    lines += _section("host", _host(found))
    lines += _section("page", _facts(found))
    refused = ", ".join(f"{reason} {words.count(number)}" for reason, number in found.refusals)
    return lines + _section("refused here", [refused] if refused else [])


def _section(title: str, texts: Iterable[str]) -> list[str]:
    return [f"{'' if number else title:<{LABEL_WIDTH}} {text}" for number, text in enumerate(texts)]


def _address(found: Explanation) -> list[str]:
    if found.url is None:
        return [f"{found.asked} (no web address)"]
    seen = found.row.raw_url if found.row and found.row.raw_url and found.row.kind is not Kind.SITEMAP else found.asked
    lines = [found.url] if seen == found.url else [found.url, f"normalised from {seen}"]
    return [*lines, f"asked for as {found.row.spelling}"] if found.row and found.row.spelling else lines


def _rule(rule: RuleVerdict) -> str:
    return f"{rule.rule}: {rule.detail}" if rule.detail else rule.rule


def _row(row: UrlRow) -> list[str]:
    reason = f", reason {row.reason}" if row.reason else ""
    lines = [f"id {row.id}, {row.state}{reason}, depth {row.depth}, {row.retries} retries"]
    if row.fetched_at is not None:
        lines.append(f"fetched {iso_time(row.fetched_at)}: {_answer(row)}")
    if row.error:
        lines.append(f"error: {row.error}")
    if row.claimed_by is not None and row.claimed_at is not None:
        lines.append(f"in flight at worker {row.claimed_by} since {iso_time(row.claimed_at)}")
    if row.not_before_in_ms:
        lines.append(f"not before {words.duration(row.not_before_in_ms)} from now")
    if row.redirect_to:
        lines.append(f"redirects to {row.redirect_to}")
    if row.archive_file is not None:
        lines.append(f"archived in {row.archive_file} at {row.archive_offset} ({row.archive_length} bytes)")
    return lines


def _answer(row: UrlRow) -> str:
    status = f"status {row.status}" if row.status is not None else "no answer"
    latency = f" in {words.duration(row.latency_ms)}" if row.latency_ms is not None else ""
    return f"{status}{latency}, {words.size(row.bytes or 0)}, {row.content_type or 'no content type'}"


def _parents(found: Explanation) -> list[str]:
    if found.row is None:
        return []
    if not found.parents and found.row.kind is Kind.SITEMAP:
        return [how_found(found.row.raw_url, listed=False)]
    return [_ancestor(parent) for parent in found.parents] or ["it is a seed"]


def _sitemap(found: Explanation) -> list[str]:
    note = found.sitemap
    if note is None:
        return []
    said = [f"lastmod {iso_time(note.lastmod)}"] if note.lastmod is not None else []
    said += [f"priority {note.priority:g}"] if note.priority is not None else []
    said += [f"changefreq {note.notes['changefreq']}"] if "changefreq" in note.notes else []
    said += [f"{name} {words.count(len(kept))}" for name, kept in note.notes.items() if isinstance(kept, list)]
    return [f"{note.sitemap} (id {note.sitemap_id})", *([", ".join(said)] if said else [])]


def _ancestor(page: Ancestor) -> str:
    return f"{page.url} (id {page.id}, depth {page.depth}, {page.state})"


def _robots(robots: RobotsVerdict) -> list[str]:
    word = {True: "allows", False: "DISALLOWS", None: "undecided"}[robots.allowed]
    lines = [f"{robots.origin}: {word}; {robots.detail}"]
    if robots.fetched_at:
        left = robots.expires_in_ms or 0
        until = f"good for {words.duration(left)} more" if left > 0 else "expired"
        failures = f", {robots.failures} failures" if robots.failures else ""
        lines.append(f"fetched {iso_time(robots.fetched_at)}, status {robots.status}, {until}{failures}")
    return lines


def _queue(found: Explanation) -> list[str]:
    queue = found.queue
    if queue is None:
        return []
    held = f", held by worker {queue.held_by}" if queue.held_by is not None else ""
    who = f" (pid {found.held_by.pid} on {found.held_by.name})" if found.held_by else ""
    dead = f", given up: {queue.dead}" if queue.dead else ""
    due = f", due in {words.duration(queue.due_in_ms)}" if queue.due_in_ms else ""
    return [f"{queue.host}: {words.at_least(queue.open, queue.open_more)} open{due}{held}{who}{dead}"]


def _host(found: Explanation) -> list[str]:
    host = found.host
    if host is None:
        return ["never asked"] if found.url else []
    parts = ", ".join(f"{name} {words.duration(ms)}" for name, ms in found.delays)
    rest = f", rests: {host.rest_reason}" if host.rest_reason else ""
    errors = f", {host.pace.errors} errors in a row" if host.pace.errors else ""
    lines = [
        f"{host.host}: delay {words.duration(host.delay_ms)} ({parts})",
        f"next request in {words.duration(host.next_in_ms)}{rest}",
        f"{words.count(host.requests)} requests so far{errors}",
    ]
    lines += [f"operator: {_operator(found.host_rule)}"] if found.host_rule else []
    return lines + (
        [f"addresses {host.addresses}{f', by way of {host.cnames}' if host.cnames else ''}"] if host.addresses else []
    )


def _operator(rule: HostRule) -> str:
    said = [f"at least {words.duration(rule.delay_ms)} between two requests"] if rule.delay_ms is not None else []
    said += [f"blocked for {words.duration(rule.blocked_in_ms)} more"] if rule.blocked_in_ms else []
    return f"{', '.join(said)} ({rule.reason or 'no reason given'}, by {rule.created_by})"


def _facts(found: Explanation) -> list[str]:
    """What the page itself says, if it was read."""
    facts = found.facts
    lines = [f"title: {found.row.title}"] if found.row and found.row.title else []
    lines += [f"{name}: {facts[name]}" for name in ("robots", "canonical", "refresh", "truncated") if facts.get(name)]
    counts = [
        (name, value) for name in ("links_out", "links_refused") if isinstance(value := facts.get(name), list) and value
    ]
    return lines + [f"{name.replace('_', ' ')}: {words.count(len(value))}" for name, value in counts]
