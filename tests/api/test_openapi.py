"""The description is exact: Schemathesis tries what it allows and what it does not, and nothing breaks."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks

from nephila.api.app import create_app
from nephila.frontier.tokens import Access
from tests.api.served import KINDS, V1, Served, served
from tests.patience import PATIENCE_SECONDS

EXAMPLES = {"sqlite": 4, "postgres": 2}  # per operation and mode
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
ENDLESS = {"watch_by_events"}  # a stream without an end: test_live.py
# What ends the crawl or the token that the others use comes last.
LATE = ("cancel", "delete", "DELETE")


@pytest.fixture(scope="module", params=KINDS)
def described_api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(request.param, tmp_path_factory.mktemp("openapi")) as running:
        yield running


def described(api: Served) -> dict[str, Any]:
    return create_app(api.services).openapi()


def fitted(case: Any, api: Served, mode: GenerationMode) -> Any:
    """Half of the cases speak of what there is; none waits for a root page that nobody fetches."""
    if case.operation.path == f"{V1}/crawls" and case.method == "POST":
        case.query = {**(case.query or {}), "wait": 0}
    if mode is GenerationMode.POSITIVE:
        known = {"crawl": str(api.crawl.id), "id": api.crawl.id, "job": api.crawl.uuid, "url_id": api.crawl.id}
        for name in (case.path_parameters or {}).keys() & known.keys():
            case.path_parameters[name] = known[name]
    return case


def test_nothing_that_is_sent_breaks_it(described_api: Served) -> None:
    api = described_api
    secret = api.token("schemathesis", Access.ADMIN)
    schema = schemathesis.openapi.from_dict(described(api))
    schema.config.update(base_url=api.url)
    operations = [found.ok() for found in schema.get_all_operations()]
    tried: Counter[str] = Counter()
    for operation in sorted(operations, key=lambda found: any(word in found.label for word in LATE)):
        name = operation.definition.raw["operationId"]
        for mode in () if name in ENDLESS else (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _try(operation, api, mode, secret, tried)
    assert set(tried) >= {operation.label for operation in operations if operation.path.startswith(V1)} - {
        f"GET {V1}/crawls/{{crawl}}/events"
    }


def _try(operation: Any, api: Served, mode: GenerationMode, secret: str, tried: Counter[str]) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES["postgres" if api.settings.store else "sqlite"],
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def run(case: Any) -> None:
        tried[operation.label] += 1
        case = fitted(case, api, mode)
        headers = {"Authorization": f"Bearer {secret}"}
        case.call_and_validate(checks=CHECKS, headers=headers, timeout=PATIENCE_SECONDS)

    with suppress(Unsatisfiable):  # where nothing may be said, nothing wrong can be said either
        run()


def test_operations_have_names_and_descriptions(described_api: Served) -> None:
    names = Counter(
        operation["operationId"]
        for methods in described(described_api)["paths"].values()
        for operation in methods.values()
    )
    assert [name for name, count in names.items() if count > 1] == []
    assert all(name.isidentifier() for name in names)


def test_every_error_has_the_one_shape(described_api: Served) -> None:
    shape = {"$ref": "#/components/schemas/ProblemBody"}
    for path, methods in described(described_api)["paths"].items():
        for method, operation in methods.items() if path.startswith(V1) else ():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert answer["content"].get("application/json", {}).get("schema") == shape, (method, path, status)
