"""`nephila migrate`: bring the store's schema up to this version."""

from nephila import wiring
from nephila.cli.options import DATA, with_settings
from nephila.settings import ProcessSettings


@with_settings(*DATA)
def migrate(*, settings: ProcessSettings) -> None:
    """Bring the schema of the store up to this version of Nephila. Data stays; a newer schema is refused."""
    version = wiring.migrate(settings)
    print(f"{settings.shown_store} has schema {version}")
