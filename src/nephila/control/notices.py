"""What a person should know about the settings of a crawl of foreign hosts: said on the command line, logged, and in
the API. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from nephila.fetch.manners import FLOOR, ROBOTS, foreign_host, loosened
from nephila.frontier.store import Crawl
from nephila.profiles import PROFILES, CrawlSettings
from nephila.settings import ProcessSettings, names_contact, user_agent_of

OWN = "NEPHILA_OWN_HOSTS names hosts of your own"


class Notice(NamedTuple):
    event: str  # its word in the log
    text: str


def notices_of(crawl: Crawl, process: ProcessSettings) -> list[Notice]:
    settings = crawl.settings
    foreign = foreign_host(settings, crawl.seeds, process.own_hosts)
    found = [] if settings.robots.force is False else [_forced(settings)]
    if not foreign:
        return found
    if not names_contact(user_agent_of(settings, process)):
        text = (
            f"no contact: {foreign} may not be yours, and its owner cannot reach you; set NEPHILA_CONTACT to a URL or"
        )
        found.append(Notice("no_contact", f"{text} mail address"))
    loose = loosened(settings)
    if loose:
        text = f"{_words(loose, settings)} also on hosts that are not your own ({foreign}), as somebody chose"
        found.append(Notice("loosened", text))
    restrained = [name for name in _loose_in_profile(settings.profile) if name not in loose]
    if restrained:
        tamed = f"at least {settings.polite.floor_ms / 1000:g} s between two requests" if FLOOR in restrained else ""
        obeyed = "robots.txt is obeyed" if ROBOTS in restrained else ""
        held = " and ".join(filter(None, (tamed, obeyed)))
        text = f"{foreign} is not your own, so unlike profile {settings.profile} says: {held}; {OWN}"
        found.append(Notice("restrained", text))
    return found


def _forced(settings: CrawlSettings) -> Notice:
    cap = settings.polite.crawl_delay_cap_ms / 1000
    return Notice("robots_forced", f"hosts that ask for a longer crawl-delay are asked every {cap:g} s (robots.force)")


def _words(loose: Sequence[str], settings: CrawlSettings) -> str:
    words = {FLOOR: f"{settings.polite.floor_ms} ms between two requests", ROBOTS: "robots.txt is ignored"}
    return " and ".join(words[name] for name in loose)


def _loose_in_profile(profile: str) -> tuple[str, ...]:
    return loosened(CrawlSettings(profile=profile, **PROFILES[profile]))
