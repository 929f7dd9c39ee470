"""The archived answer of a page, as data: nothing of it ever runs as a part of this server."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from nephila.api.access import guarded, reads_or_has_ticket
from nephila.api.lookup import crawl_named, url_of
from nephila.api.problems import Problem
from nephila.api.query import CrawlRef, UrlId
from nephila.api.schemas import AncestorView, PageView, TicketView, UrlView
from nephila.api.services import Services, Shared
from nephila.archive.reader import ArchivedResponse, read_response
from nephila.control.explain import explain
from nephila.extract.encoding import charset_of, decode_html
from nephila.extract.page import is_html
from nephila.fetch.body import decode_body
from nephila.frontier.operators import Access
from nephila.frontier.store import UrlRow
from nephila.models import ArchivePlace
from nephila.profiles import CrawlSettings
from nephila.settings import user_agent_of

TEXT_BYTES_MAX = 2 << 20  # of a body that is shown as text
BINARY_LOOK = 8192
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

BYTES = {
    "description": "the bytes",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}

HTML = {"description": "the page", "content": {"text/html": {"schema": {"type": "string"}}}}

router = APIRouter(tags=["pages"])


@router.get("/crawls/{crawl}/urls/{url_id}/page", **guarded(Access.READ, 404))
def get_page(shared: Shared, crawl: CrawlRef, url_id: UrlId) -> PageView:
    """Headers as received, the body as text, what was found in it, where it led."""
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        row = url_of(store, found, url_id)
        known = explain(
            store.catalog, store.rulebook.rulings(), found, row.url, user_agent_of(found.settings, shared.settings)
        )
    response, body = _answer(shared, row, found.settings)
    text, charset = shown_text(body, response)
    return PageView(
        url=UrlView.model_validate(row),
        fetched_at=response.date,
        ip=response.ip,
        status=response.status,
        headers=list(response.headers),
        body=text,
        body_bytes=len(body),
        charset=charset,
        truncated=len(body) > TEXT_BYTES_MAX,
        facts=known.facts,
        redirects=[AncestorView.model_validate(ancestor) for ancestor in known.redirects],
    )


@router.get(
    "/crawls/{crawl}/urls/{url_id}/page/raw",
    response_class=Response,
    **guarded(Access.READ, 404, answers={200: BYTES}),
)
def get_raw_page(shared: Shared, crawl: CrawlRef, url_id: UrlId) -> Response:
    """The decoded body, byte for byte; its type is in X-Archived-Content-Type."""
    row, _, body = _archived(shared, crawl, url_id)
    kind = (row.content_type or "").encode("ascii", "replace").decode()
    headers = SANDBOX | {"X-Archived-Content-Type": "".join(filter(str.isprintable, kind))}
    return Response(body, media_type="application/octet-stream", headers=headers)


@router.get(
    "/crawls/{crawl}/urls/{url_id}/page/rendered",
    response_class=HTMLResponse,
    **guarded(Access.READ, 404, answers={200: HTML}, by=reads_or_has_ticket),
)
def get_rendered_page(shared: Shared, crawl: CrawlRef, url_id: UrlId) -> Response:
    """The page as a browser shows it without scripts and without the network, in a sandbox."""
    row, response, body = _archived(shared, crawl, url_id)
    text, _ = shown_text(body, response)
    if text is None or not is_html(row.content_type, body):
        raise Problem(404, f"{row.url} is no HTML page: /page/raw has its bytes", code="not_html")
    return HTMLResponse(text, headers=RENDERED)


@router.get("/crawls/{crawl}/urls/{url_id}/page/ticket", **guarded(Access.READ, 404))
def get_page_ticket(request: Request, shared: Shared, crawl: CrawlRef, url_id: UrlId) -> TicketView:
    """Where a frame, which can send no token, finds the rendered page for the next minute."""
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        row = url_of(store, found, url_id)
    number = str(found.id)
    path = request.app.url_path_for("get_rendered_page", crawl=number, url_id=row.id)
    return TicketView(path=f"{path}?ticket={shared.tickets.issue(number, row.id)}")


def _archived(shared: Services, crawl: str, url_id: int) -> tuple[UrlRow, ArchivedResponse, bytes]:
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        row = url_of(store, found, url_id)
    return row, *_answer(shared, row, found.settings)


def _answer(shared: Services, row: UrlRow, settings: CrawlSettings) -> tuple[ArchivedResponse, bytes]:
    response = read_response(shared.settings.archive_folder, place_of(row))
    return response, decode_body(response.headers, response.body, settings.fetch.body_bytes_max).body


def place_of(row: UrlRow) -> ArchivePlace:
    if row.archive_file is None or row.archive_offset is None or row.archive_length is None:
        why = f"{row.state}{f' ({row.reason})' if row.reason else ''}"
        raise Problem(404, f"nothing is archived of {row.url}: it is {why}", code="not_archived")
    return ArchivePlace(row.archive_file, row.archive_offset, row.archive_length)


def shown_text(body: bytes, response: ArchivedResponse) -> tuple[str | None, str | None]:
    """The text and its charset; neither where it is binary."""
    if b"\0" in body[:BINARY_LOOK]:
        return None, None
    declared = next((value for name, value in response.headers if name.lower() == "content-type"), None)
    text, codec = decode_html(body[:TEXT_BYTES_MAX], charset_of(declared))
    return text.encode("utf-8", "replace").decode(), codec
