"""`nephila migrate`: bring the store's schema up to this version."""

from nephila import wiring
from nephila.cli.options import DataOption, StoreOption, reading_settings


def migrate(data: DataOption = None, store: StoreOption = None) -> None:
    """Bring the schema of the store up to this version of Nephila. Data stays; a newer schema is refused."""
    settings = reading_settings(data, store)
    version = wiring.migrate(settings)
    print(f"{settings.shown_store} has schema {version}")
