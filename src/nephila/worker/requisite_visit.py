"""What a page needs: asked for as a page is, archived, and of a stylesheet what it needs in turn is read."""

from nephila.extract.page import is_css
from nephila.extract.reader import PageReading, ParseFailure, ReadAs
from nephila.frontier.store import Row
from nephila.models import UrlState
from nephila.worker.crawls import LiveCrawl
from nephila.worker.scheduler import Host
from nephila.worker.visit import Read, Steps, Visit, ask, crashed, ended, read_request, requisites_of


def visit_requisite(host: Host, crawl: LiveCrawl, row: Row) -> Steps:
    """Whatever its type is, it ends visited: what a browser makes of it, it makes of the archived one, too. HTML is not
    read here: what a page frames is a link of that page."""
    asked = yield from ask(host, crawl, row)
    if isinstance(asked, Visit):
        return asked
    answer, change = asked
    result = answer.result
    read_as: ReadAs = "stylesheet" if is_css(result.header("content-type"), result.url) else "bytes"
    reading: PageReading | ParseFailure = yield Read(read_request(host, crawl, row, result, read_as), change)
    if isinstance(reading, ParseFailure):
        return crashed(crawl, row, result, reading)
    visit = Visit(refusals=reading.refused, examples=reading.examples)
    children = list(requisites_of(crawl, row, reading, answer.blocks, visit)) if reading.requisites else []
    visit.ending = ended(crawl, row, result, UrlState.VISITED, reading=reading, children=children)
    return visit
