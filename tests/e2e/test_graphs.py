"""Generated graphs: the crawl must find exactly what the generator computed."""

from collections import Counter

import pytest

from tests.e2e.harness import Places, run_here
from tests.site.graphs import generate, seeds_under_test
from tests.site.server import TestWeb


@pytest.mark.requirement("T-03", "F-07", "F-02", "C-02", "K20")
@pytest.mark.parametrize("pages", [11, 120, 600])
@pytest.mark.parametrize("seed", seeds_under_test())
def test_the_export_is_what_the_generator_computed(seed: int, pages: int, places: Places) -> None:
    with TestWeb() as web:
        graph = generate(seed, pages, web.port, hosts=3 if pages > 100 else 1)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings)
        run_here(place, crawl.id)
        assert graph.mismatches(place.states(crawl.id)) == []
        asked = Counter((hit.host, hit.path) for hit in web.hits())
        assert [pair for pair, times in asked.items() if times > 1] == []
        assert place.store().catalog.check() == []
