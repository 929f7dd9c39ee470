"""`nephila label`: what people call a crawl."""

from typing import Annotated

import typer

from nephila.cli.display import numbered, seeds_text
from nephila.cli.options import DATA, JsonOption, blaming_option, open_catalog, with_settings
from nephila.cli.output import print_json, print_lines
from nephila.control import crawls
from nephila.control.naming import checked_name
from nephila.settings import ProcessSettings


@with_settings(*DATA)
def label(
    crawl: Annotated[int, typer.Argument(metavar="CRAWL", help="Number of the crawl.", show_default=False)],
    labels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL]...",
            help="Labels that it gets: words like nightly, or key=value like team=docs. A new value of a key takes the "
            "place of the old one.",
            show_default=False,
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="A label that it loses; a key is enough (may be repeated)."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Its name from now on; an empty one: none.")] = None,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """Give a crawl a name and labels, whether it runs or is over, or show those that it has.

    They are shown wherever the crawl is, and `nephila status --label` finds it by them. What is crawled stays as it is.
    """
    catalog = open_catalog(settings)
    found = catalog.crawl(crawl)
    with blaming_option("--name"):
        wanted = None if name is None else checked_name(name)
    with blaming_option("LABEL"):
        found = crawls.rename(catalog, found, wanted, labels or (), remove or ())
    if json:
        print_json({"crawl": found.id, "name": found.naming.name, "labels": found.naming.labels})
        return
    words = ", ".join(found.naming.labels)
    print_lines([f"{numbered(found)}: {seeds_text(found.seeds)}", f"labels: {words}" if words else "it has no labels"])
