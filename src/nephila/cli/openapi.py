"""`nephila openapi`: the description of the API, from which clients are generated: that of the web UI is."""

import json

import typer


def openapi() -> None:
    """Print the OpenAPI description of the API that `serve` has; nothing is opened or started."""
    # Here, because no other verb needs FastAPI, and it takes 0.4 s to load.
    from nephila.api.app import described

    typer.echo(json.dumps(described(), indent=1))
