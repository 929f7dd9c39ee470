"""`nephila token`: access tokens of the API. A secret is shown once, when it is made."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nephila import wiring
from nephila.cli.display import print_json
from nephila.cli.options import DataOption, JsonOption, StoreOption, reading_settings
from nephila.control import access
from nephila.control.export import iso_time
from nephila.errors import UsageError
from nephila.frontier.operators import Access, Rulebook, Token

app = typer.Typer(no_args_is_help=True, help="Access tokens of the API: create, list, revoke.")


def _rulebook(data: Path | None, store: str | None, *, create: bool = False) -> Rulebook:
    return wiring.open_store(reading_settings(data, store), create=create).rulebook


def _record(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "access": token.access.value,
        "created_at": iso_time(token.created_at),
        "revoked_at": None if token.revoked_at is None else iso_time(token.revoked_at),
    }


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    wanted: Annotated[
        Access, typer.Option("--access", help="read: look; write: also crawl; admin: everything.")
    ] = Access.READ,
    data: DataOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Make a token and print its secret, which nobody can ask for again."""
    token, secret = access.make_token(_rulebook(data, store, create=True), name, wanted)
    if json:
        print_json(_record(token) | {"secret": secret})
        return
    print(secret)
    typer.echo(f"token {token.id} ({token.name}) may {token.access}; this is the only time it is shown", err=True)


@app.command("list")
def list_tokens(data: DataOption = None, store: StoreOption = None, json: JsonOption = False) -> None:
    """Every token, those that were revoked included; never a secret."""
    tokens = _rulebook(data, store).tokens()
    if json:
        print_json({"tokens": [_record(token) for token in tokens]})
        return
    table = Table("id", "name", "access", "created", "revoked", box=None, pad_edge=False, header_style="bold")
    for token in tokens:
        table.add_row(*("" if value is None else str(value) for value in _record(token).values()))
    Console().print(table if tokens else "there are no tokens: `nephila token create NAME` makes one")


@app.command()
def revoke(
    token_id: Annotated[int, typer.Argument(metavar="ID", help="`nephila token list` shows it.")],
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """End a token; servers notice within two seconds."""
    if not access.revoke_token(_rulebook(data, store), token_id):
        raise UsageError(f"there is no living token {token_id}: `nephila token list` shows them")
    print(f"token {token_id} is revoked")
