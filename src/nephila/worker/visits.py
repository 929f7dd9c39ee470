"""Who visits a row of each kind. Everything else that a kind decides is in `KIND_TRAITS` (`models.py`)."""

from collections.abc import Callable
from typing import NamedTuple

from nephila.frontier.store import Row
from nephila.models import Kind
from nephila.worker.crawls import LiveCrawl
from nephila.worker.requisite_visit import visit_requisite
from nephila.worker.robots_visit import refuse_robots, visit_robots
from nephila.worker.scheduler import Host
from nephila.worker.sitemap_visit import visit_sitemap
from nephila.worker.visit import Steps, Visit, refuse_page, visit_page


class Visits(NamedTuple):
    visit: Callable[[Host, LiveCrawl, Row], Steps]
    refuse: Callable[[LiveCrawl, Row, str, int], Visit]  # without a request, for this reason, at this time


VISITS: dict[Kind, Visits] = {
    Kind.PAGE: Visits(visit_page, refuse_page),
    Kind.ROBOTS: Visits(visit_robots, refuse_robots),
    Kind.REQUISITE: Visits(visit_requisite, refuse_page),
    Kind.SITEMAP: Visits(visit_sitemap, refuse_page),
}
