"""`nephila refused`: the links and URLs that a crawl has refused, and why."""

from typing import Annotated, Any

import typer

from nephila.cli import words
from nephila.cli.options import DATA, CrawlArgument, JsonOption, chosen_crawl, open_store, with_settings
from nephila.cli.output import print_json, print_lines
from nephila.control.refused import (
    EXAMPLES_SHOWN,
    HOSTS_SHOWN,
    DecidedBy,
    RefusedGroup,
    RefusedReason,
    RefusedWhat,
    refused_of,
)
from nephila.models import Reason, Refusal
from nephila.settings import ProcessSettings, user_agent_of

NOUNS = {RefusedWhat.LINK: "link", RefusedWhat.URL: "URL"}
VALUE_CHARS_SHOWN = 80


@with_settings(*DATA)
def refused(
    crawl: CrawlArgument = None,
    reason: Annotated[str | None, typer.Option(metavar="WORD", help="Only what was refused for this reason.")] = None,
    hosts: Annotated[
        int, typer.Option(metavar="N", min=0, max=1000, help="So many hosts of each reason.")
    ] = HOSTS_SHOWN,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """List what a crawl has refused: by reason, host and rule, with examples and the setting or rule that decides."""
    known = {*Refusal, *filter(None, Reason)}
    if reason is not None and reason not in known:
        raise typer.BadParameter(f"{reason!r} is none of: {', '.join(sorted(known))}", param_hint="--reason")
    store = open_store(settings)
    chosen = chosen_crawl(store.catalog, crawl)
    agent = user_agent_of(chosen.settings, settings)
    found = refused_of(store.catalog, store.rulebook.rulings(), chosen, agent, hosts)
    found = [each for each in found if reason in (None, each.reason)]
    if json:
        print_json([each.as_json() for each in found])
    elif found:
        for each in found:
            print_lines(_lines(each))
    else:
        print(f"crawl {chosen.id} has refused nothing{f' for the reason {reason}' if reason else ''}")


def _lines(found: RefusedReason) -> list[str]:
    lines = [
        f"{found.reason}: {words.count(found.count)} {NOUNS[found.what]}{'s' * (found.count != 1)}{_decided(found)}"
    ]
    first = " (among the first URLs)" if found.sampled else ""
    lines += _groups(f"by rule{first}", found.rules)
    lines += _groups(f"by host{first}", [group for group in found.hosts if group.name])
    lines += [f"    and {words.count(found.hosts_more)} more hosts"] if found.hosts_more else []
    lines += ["  examples"] if found.examples else []
    for example in found.examples[:EXAMPLES_SHOWN]:
        page = f"  (found on the page with id {example.found_on})" if example.found_on is not None else ""
        lines.append(f"    {example.url}{page}")
    return lines


def _decided(found: RefusedReason) -> str:
    if found.setting:
        robots = " by robots.txt of the host," if found.decided_by is DecidedBy.ROBOTS else ""
        return f",{robots} {found.setting} = {_shown(found.value)}"
    return ", block rules of operators" if found.decided_by is DecidedBy.BLOCK else ", no URLs of the web"


def _groups(title: str, groups: list[RefusedGroup]) -> list[str]:
    lines = [f"    {words.count(group.count):>9}  {group.name}" for group in groups]
    return [f"  {title}", *lines] if lines else []


def _shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return text if len(text) <= VALUE_CHARS_SHOWN else f"{text[: VALUE_CHARS_SHOWN - 1]}…"
