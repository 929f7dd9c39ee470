"""`nephila token`: access tokens of the API. A secret is shown once, when it is made."""

from typing import Annotated

import typer

from nephila.cli.hints import command
from nephila.cli.options import DATA, JsonOption, open_store, with_settings
from nephila.cli.output import print_json, print_table
from nephila.control import access
from nephila.control.export import iso_time
from nephila.errors import UsageError
from nephila.frontier.tokens import Access, Token
from nephila.settings import ProcessSettings

app = typer.Typer(no_args_is_help=True, help="Access tokens of the API: create, list, revoke.")


def _record(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "access": token.access.value,
        "created_at": iso_time(token.created_at),
        "revoked_at": None if token.revoked_at is None else iso_time(token.revoked_at),
    }


@app.command()
@with_settings(*DATA)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    wanted: Annotated[
        Access, typer.Option("--access", help="read: look; write: also crawl; admin: everything.")
    ] = Access.READ,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """Make a token and print its secret, which nobody can ask for again."""
    token, secret = access.make_token(open_store(settings, create=True).tokens, name, wanted)
    if json:
        print_json(_record(token) | {"secret": secret})
        return
    print(secret)
    typer.echo(f"token {token.id} ({token.name}) may {token.access}; this is the only time it is shown", err=True)


@app.command("list")
@with_settings(*DATA)
def list_tokens(*, settings: ProcessSettings, json: JsonOption = False) -> None:
    """Every token, those that were revoked included; never a secret."""
    tokens = open_store(settings).tokens.tokens()
    if json:
        print_json({"tokens": [_record(token) for token in tokens]})
        return
    rows = [{name.removesuffix("_at"): str(value or "") for name, value in _record(token).items()} for token in tokens]
    if rows:
        print_table(rows)
    else:
        print(f"there are no tokens: `{command(settings, 'token', 'create', 'NAME')}` makes one")


@app.command()
@with_settings(*DATA)
def revoke(
    token_id: Annotated[int, typer.Argument(metavar="ID", help="`nephila token list` shows it.")],
    *,
    settings: ProcessSettings,
) -> None:
    """End a token; servers notice within two seconds."""
    if not access.revoke_token(open_store(settings).tokens, token_id):
        raise UsageError(f"there is no living token {token_id}: `nephila token list` shows them")
    print(f"token {token_id} is revoked")
