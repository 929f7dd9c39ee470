"""The archived answer of a page, as data: nothing of it ever runs as a part of this server."""

from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from nephila.api.access import guarded, reads_or_has_ticket
from nephila.api.lookup import crawl_named, url_of
from nephila.api.problems import Problem
from nephila.api.query import CrawlRef, UrlId
from nephila.api.routers import noun_router
from nephila.api.routes.urls import AncestorView, UrlView
from nephila.api.schemas import Moment, View
from nephila.api.services import Services, Shared
from nephila.control.explain import explain
from nephila.control.pages import PageContent, page_of
from nephila.extract.page import is_html
from nephila.frontier.records import UrlRow
from nephila.frontier.tokens import Access
from nephila.settings import user_agent_of

TEXT_BYTES_MAX = 2 << 20  # of a body that is shown as text
# Even a browser that is led here gets a download from an origin of its own.
SANDBOX = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Content-Disposition": "attachment",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# Shown in a frame: no scripts, no forms, no network, and an origin of its own that nothing else shares.
RENDERED = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
}

PAGE = "<!doctype html><title>Documentation</title>"
BYTES = {
    "description": "the bytes",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}, "example": PAGE}},
}

HTML = {"description": "the page", "content": {"text/html": {"schema": {"type": "string"}, "example": PAGE}}}

router = noun_router("pages")


class PageView(View):
    url: UrlView = Field(description="the URL, as it is listed")
    fetched_at: Moment = Field(description="when the answer came", examples=["2026-03-02T09:30:00Z"])
    ip: str | None = Field(description="address that answered", examples=["192.0.2.10"])
    status: int = Field(description="HTTP status", examples=[200])
    headers: list[tuple[str, str]] = Field(
        description="as received, in their order", examples=[[["content-type", "text/html; charset=utf-8"]]]
    )
    body: str | None = Field(description="decoded text; null: it is binary", examples=[PAGE])
    body_bytes: int = Field(description="size of the decoded body", examples=[18233])
    charset: str | None = Field(description="how the bytes were read as text; null: it is binary", examples=["utf-8"])
    truncated: bool = Field(description="the body goes on; /page/raw has all of it", examples=[False])
    facts: dict[str, Any] = Field(
        description="what was found in the page",
        examples=[{"ip": "192.0.2.10", "protocol": "h2", "description": "How to begin", "links_out": 42}],
    )
    redirects: list[AncestorView] = Field(description="what its answer led to")


class TicketView(View):
    path: str = Field(
        description="opens the rendered page for a minute, without a token",
        examples=["/api/v1/crawls/7/urls/815/page/rendered?ticket=EXAMPLE"],
    )


@router.get("/crawls/{crawl}/urls/{url_id}/page", **guarded(Access.READ, 404))
def get_page(shared: Shared, crawl: CrawlRef, url_id: UrlId) -> PageView:
    """Show the archived answer of a URL.

    Headers as received, the body as text, what was found in it, where it led.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        row = url_of(store, found, url_id)
        known = explain(
            store.catalog, store.rulebook.rulings(), found, row.url, user_agent_of(found.settings, shared.settings)
        )
    page = page_of(store.archive, row, found.settings)
    response, (text, charset) = page.response, page.text(TEXT_BYTES_MAX)
    return PageView(
        url=UrlView.model_validate(row),
        fetched_at=response.date,
        ip=response.ip,
        status=response.status,
        headers=list(response.headers),
        body=text,
        body_bytes=len(page.body),
        charset=charset,
        truncated=len(page.body) > TEXT_BYTES_MAX,
        facts=known.facts,
        redirects=[AncestorView.model_validate(ancestor) for ancestor in known.redirects],
    )


@router.get(
    "/crawls/{crawl}/urls/{url_id}/page/raw",
    response_class=Response,
    **guarded(Access.READ, 404, answers={200: BYTES}),
)
def get_raw_page(shared: Shared, crawl: CrawlRef, url_id: UrlId) -> Response:
    """Download the archived body of a URL.

    Decoded, byte for byte. Its type is in X-Archived-Content-Type: a browser saves it and never shows it.
    """
    row, page = _archived(shared, crawl, url_id)
    kind = (row.content_type or "").encode("ascii", "replace").decode()
    headers = SANDBOX | {"X-Archived-Content-Type": "".join(filter(str.isprintable, kind))}
    return Response(page.body, media_type="application/octet-stream", headers=headers)


@router.get(
    "/crawls/{crawl}/urls/{url_id}/page/rendered",
    response_class=HTMLResponse,
    **guarded(Access.READ, 404, answers={200: HTML}, by=reads_or_has_ticket),
)
def get_rendered_page(shared: Shared, crawl: CrawlRef, url_id: UrlId) -> Response:
    """Show the archived page of a URL as a browser does.

    Without scripts and without the network, in a sandbox. A `ticket` opens it without a token, for a minute.
    """
    row, page = _archived(shared, crawl, url_id)
    text, _ = page.text(TEXT_BYTES_MAX)
    if text is None or not is_html(row.content_type, page.body):
        raise Problem(404, f"{row.url} is no HTML page: /page/raw has its bytes", code="not_html")
    return HTMLResponse(text, headers=RENDERED)


@router.get("/crawls/{crawl}/urls/{url_id}/page/ticket", **guarded(Access.READ, 404))
def get_page_ticket(request: Request, shared: Shared, crawl: CrawlRef, url_id: UrlId) -> TicketView:
    """Get a ticket for the rendered page of a URL.

    A frame can send no token: the path that is answered opens for a minute without one.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        row = url_of(store, found, url_id)
    number = str(found.id)
    path = request.app.url_path_for("get_rendered_page", crawl=number, url_id=row.id)
    return TicketView(path=f"{path}?ticket={shared.tickets.issue(number, row.id)}")


def _archived(shared: Services, crawl: str, url_id: int) -> tuple[UrlRow, PageContent]:
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        row = url_of(store, found, url_id)
    return row, page_of(store.archive, row, found.settings)
