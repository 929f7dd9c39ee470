"""Try a robots.txt: a text, URLs and a crawler's name in, what it says of them out."""

from typing import Annotated

from pydantic import Field

from nephila.api.access import guarded
from nephila.api.problems import asked_for
from nephila.api.query import TEXT_CHARS_MAX, PlainText
from nephila.api.routers import noun_router
from nephila.api.schemas import Body, View, view_of
from nephila.api.services import Shared
from nephila.control.crawls import seed_url
from nephila.frontier.tokens import Access
from nephila.policy.robots_trial import AGENT_CHARS_MAX, RobotsTrial, UrlTrial, agent_token, try_robots
from nephila.profiles import crawl_settings
from nephila.robots.rules import ROBOTS_BYTES_MAX
from nephila.settings import user_agent_of

URLS_MAX = 20  # of one request: a text of half a megabyte takes 0.1 s for each

router = noun_router("hosts")


class RobotsTrialBody(Body):
    """A robots.txt, and what is to be asked for under it."""

    text: str = Field(
        max_length=ROBOTS_BYTES_MAX,
        description="the robots.txt; of more than 512,000 bytes only the beginning is read, as crawls do",
        examples=["User-agent: *\nDisallow: /private/\nCrawl-delay: 5\n"],
    )
    urls: list[Annotated[PlainText, Field(min_length=1, max_length=TEXT_CHARS_MAX)]] = Field(
        min_length=1,
        max_length=URLS_MAX,
        description="URLs or bare domains; their path and query are what rules match",
        examples=[["https://example.com/private/report.html"]],
    )
    agent: PlainText | None = Field(
        None,
        min_length=1,
        max_length=AGENT_CHARS_MAX,
        description="a crawler's name, a whole User-Agent, or `*` for any that no group names; null: this server's own",
        examples=["Googlebot"],
    )


@view_of(UrlTrial)
class UrlTrialView(View):
    url: str = Field(description="as a crawl would ask for it", examples=["https://example.com/private/report.html"])
    allowed: bool = Field(
        description="by the rules alone; `parked` may still keep a crawl from asking", examples=[False]
    )
    rule: str = Field(
        description="that decides, like `Disallow: /private/`; empty: none matches", examples=["Disallow: /private/"]
    )
    line: int | None = Field(description="of that rule, counted from 1; null: no rule decides", examples=[2])
    detail: str = Field(
        description="the rule and its line in words, or why there is none", examples=["Disallow: /private/ (line 2)"]
    )


@view_of(RobotsTrial)
class RobotsTrialView(View):
    agent: str = Field(description="the product token that groups are looked up by", examples=["Googlebot"])
    group: str = Field(
        description="the name that its groups are found by: its own or `*`; empty: no group is for it", examples=["*"]
    )
    group_lines: tuple[int, ...] = Field(description="where these groups begin; several are merged", examples=[[1]])
    crawl_delay_ms: int | None = Field(description="the longest delay of these groups; null: none", examples=[5000])
    parked: str = Field(
        description="why a crawl with the usual settings asks the host for nothing; empty: it does ask", examples=[""]
    )
    sitemaps: tuple[str, ...] = Field(
        description="of the whole file, whatever the crawler", examples=[["https://example.com/sitemap.xml"]]
    )
    cut: bool = Field(description="the text is longer than is read of a robots.txt", examples=[False])
    urls: tuple[UrlTrialView, ...] = Field(description="in the order in which they were given")


@router.post("/robots/trial", **guarded(Access.READ))
def try_robots_text(shared: Shared, body: RobotsTrialBody) -> RobotsTrialView:
    """Try a robots.txt. May a crawler ask for these URLs, and which line says so?

    The answer is that of the parser and the matcher of the crawler itself. Nothing is asked for and nothing is stored.
    """
    own = user_agent_of(crawl_settings(), shared.settings)
    agent = asked_for("agent", agent_token, own if body.agent is None else body.agent)
    urls = [asked_for("urls", seed_url, url) for url in body.urls]
    return RobotsTrialView.model_validate(try_robots(body.text.encode("utf-8", "replace"), urls, agent))
