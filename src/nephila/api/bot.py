"""The page for owners of sites that were crawled: what this crawler is, who runs it, how to slow or stop it.

It needs no token: let NEPHILA_CONTACT lead to it, and the User-Agent of every request does.
"""

from html import escape

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response
from starlette.requests import Request

from nephila import __version__
from nephila.api.ui import METHODS
from nephila.profiles import crawl_settings
from nephila.robots.rules import product_token_of
from nephila.settings import ProcessSettings, names_contact, user_agent_of

PATH = "/bot"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-cache",
}

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{token}</title>
<h1>{token}, a web crawler</h1>
<p>It visits public pages and follows their links. It names itself in every request:
<pre>User-Agent: {user_agent}</pre>
<h2>Who runs it</h2>
<p>{contact}
<h2>How to block it</h2>
<p>It reads <code>/robots.txt</code> (RFC 9309) before the first page of a site, and again once a day. To keep it
out altogether:
<pre>User-agent: {token}
Disallow: /</pre>
<p>To keep it out of a part of your site, give the path of that part. On a page, <code>&lt;meta name="robots"
content="nofollow"&gt;</code> or the header <code>X-Robots-Tag: nofollow</code> keeps it from following the links.
<h2>How to slow it</h2>
<p>By default it leaves at least a second between two requests to a host, and longer where the host is slow. It honours
<code>Crawl-delay</code> up to {cap} seconds; a site that asks for more is left alone:
<pre>User-agent: {token}
Crawl-delay: 10</pre>
<p>It rests when it is answered 429 or 503, for as long as <code>Retry-After</code> says, and leaves
hosts alone that keep failing.
<hr><p>Nephila {version}
</html>
"""


def bot_page(settings: ProcessSettings) -> str:
    crawl = crawl_settings()
    user_agent = user_agent_of(crawl, settings)
    return PAGE.format(
        token=escape(product_token_of(user_agent)),
        user_agent=escape(user_agent),
        contact=_contact(settings, user_agent),
        cap=crawl.polite.crawl_delay_cap_ms // 1000,
        version=escape(__version__),
    )


def _contact(settings: ProcessSettings, user_agent: str) -> str:
    contact = settings.contact
    if names_contact(contact):
        link = contact if contact.startswith(("https://", "http://")) else f"mailto:{contact.removeprefix('mailto:')}"
        return f'Reach its operator at <a href="{escape(link)}">{escape(contact)}</a>.'
    if names_contact(user_agent):
        return "See the address in the User-Agent above."
    return "Its operator has not said how to reach them."


def install(app: FastAPI, settings: ProcessSettings) -> None:
    page = bot_page(settings)

    async def answer(_request: Request) -> Response:
        return HTMLResponse(page, headers=HEADERS)

    app.add_route(PATH, answer, methods=METHODS, include_in_schema=False)
