"""The OpenAPI document as a page for people, at /docs: plain HTML without scripts, so that nothing can run there.

It holds no data, so it needs no token, as /openapi.json needs none.
"""

import gzip
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from nephila.api.examples import NONE, example_of
from nephila.api.ui import METHODS, TYPES, File

PATH, STYLE_PATH = "/docs", "/docs/reference.css"
STYLE = Path(__file__).with_name("reference.css")
CACHE = "no-cache"
SERVER = "http://127.0.0.1:3000"
TOKEN = "-H 'Authorization: Bearer TOKEN'"
READ_ONLY = "get"
UNTOLD = "Successful Response"  # what FastAPI says where nobody says more

Schema = Mapping[str, Any]

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" type="image/svg+xml" href="/ui/favicon.svg">
<link rel="stylesheet" href="{style}"><title>{title} API</title></head>
<body><header><h1>{title} API <small>{version}</small></h1>
<p>{about}</p>
<p>While there is no token, only this machine is served, and it may do everything. With tokens, send one in each
request: <code>Authorization: Bearer TOKEN</code>; <code>nephila token create NAME</code> makes one. Bodies are JSON. An
error is answered with a <a href="#ProblemBody">code, a message, a hint and the field</a> that is wrong. The same as a
document for programs: <a href="/openapi.json">/openapi.json</a>. The web interface: <a href="/ui/">/ui/</a>.</p>
<nav aria-label="Operations by subject">{links}</nav></header>
<main>{sections}
<section aria-labelledby="records"><h2 id="records">Records</h2>
{records}</section></main></body></html>
"""


def install(app: FastAPI) -> None:
    page = cache(partial(_page_file, app.openapi))
    style = File(TYPES[".css"], CACHE, STYLE.read_bytes(), {})

    async def show_page(request: Request) -> Response:
        return (await run_in_threadpool(page)).answer(request.headers.get("accept-encoding", ""))

    async def show_style(request: Request) -> Response:
        return style.answer(request.headers.get("accept-encoding", ""))

    app.add_route(PATH, show_page, methods=METHODS, include_in_schema=False)
    app.add_route(STYLE_PATH, show_style, methods=METHODS, include_in_schema=False)


def _page_file(describe: Callable[[], dict[str, Any]]) -> File:
    text = page_of(describe()).encode()
    return File(TYPES[".html"], CACHE, text, {"gzip": gzip.compress(text)})


def page_of(document: Schema) -> str:
    schemas = document["components"]["schemas"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation.get("tags", ["other"])[0], []).append(
                _operation(method, path, operation, schemas)
            )
    links = "".join(f'<a href="#{_anchor(tag)}">{escape(tag)}</a> ' for tag in by_tag)
    return PAGE.format(
        style=STYLE_PATH,
        title=escape(document["info"]["title"]),
        version=escape(document["info"]["version"]),
        about=_prose(document["info"]["description"]),
        links=links + '<a href="#records">records</a>',
        sections="\n".join(_section(tag, operations) for tag, operations in by_tag.items()),
        records="\n".join(_record(name, schema) for name, schema in sorted(schemas.items())),
    )


def _section(tag: str, operations: list[str]) -> str:
    head = f'<h2 id="{_anchor(tag)}">{escape(tag)}</h2>'
    return f'<section aria-labelledby="{_anchor(tag)}">{head}\n{"".join(operations)}</section>'


def _anchor(tag: str) -> str:
    return "of-" + re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")


# --- operations -------------------------------------------------------------------------------------------------------


def _operation(method: str, path: str, operation: Schema, schemas: Schema) -> str:
    name = f'<b class="{method}">{method.upper()}</b> <code>{escape(path)}</code> <span>{_prose(operation["summary"])}'
    parts = [f"<p>{_prose(operation['description'])}</p>", _access(operation)]
    parts += _parameters(operation.get("parameters", []))
    parts += _body(operation.get("requestBody"))
    parts.append(f"<h3>Try it</h3><pre>{escape(curl_of(method, path, operation, schemas))}</pre>")
    parts += (part for status, answer in operation["responses"].items() for part in _answer(status, answer))
    return f'<details id="{operation["operationId"]}"><summary>{name}</span></summary>{"".join(parts)}</details>\n'


def _access(operation: Schema) -> str:
    access = operation.get("x-access")
    return f"<p>Access: <code>{escape(access)}</code></p>" if access else "<p>Access: nobody needs a token.</p>"


def _parameters(parameters: list[Schema]) -> Iterator[str]:
    if parameters:
        rows = "".join(
            _row(
                found["name"], found["schema"], found.get("description", ""), f"in {found['in']}", found.get("required")
            )
            for found in parameters
        )
        yield f"<h3>Parameters</h3>{_table(rows)}"


def _body(body: Schema | None) -> Iterator[str]:
    for kind, content in (body or {}).get("content", {}).items():
        yield f"<h3>Body</h3><p>{escape(kind)}: {type_of(content['schema'])}</p>{_example(content)}"


def _answer(status: str, answer: Schema) -> Iterator[str]:
    """Good answers with their examples, errors in a line."""
    if not status.startswith("2"):
        yield f'<p class="error"><b>{escape(status)}</b> {_prose(answer.get("description", ""))}</p>'
        return
    about = answer.get("description", "")
    yield f"<h3>Answer {escape(status)}</h3>" + (f"<p>{_prose(about)}</p>" if about not in ("", UNTOLD) else "")
    for kind, content in answer.get("content", {}).items():
        yield f"<p>{escape(kind)}: {type_of(content.get('schema', {}))}</p>{_example(content)}"


def _example(content: Schema) -> str:
    if "example" not in content:
        return ""
    example = content["example"]
    text = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
    return f"<pre>{escape(text)}</pre>"


def curl_of(method: str, path: str, operation: Schema, schemas: Schema) -> str:
    """A command that does it, for a shell. Parameters that may be left out are."""
    needed = [found for found in operation.get("parameters", []) if found.get("required")]
    values = {found["name"]: _sample(found["schema"], schemas) for found in needed if found["in"] == "path"}
    asked = {found["name"]: _sample(found["schema"], schemas) for found in needed if found["in"] == "query"}
    for name, value in values.items():
        path = path.replace("{" + name + "}", quote(value, safe=""))
    address = f"{SERVER}{path}" + (f"?{urlencode(asked)}" if asked else "")
    words = ["curl", *(() if method == READ_ONLY else ("-X", method.upper())), f"'{address}'"]
    words += [TOKEN] if "x-access" in operation else []
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        words += [f"-H 'Content-Type: {kind}'", f"-d {shlex.quote(json.dumps(content.get('example', {})))}"]
    return " ".join(words)


def _sample(schema: Schema, schemas: Schema) -> str:
    found = example_of(schema, schemas)
    return "1" if found is NONE else str(found)


# --- records ----------------------------------------------------------------------------------------------------------


def _record(name: str, schema: Schema) -> str:
    about = f"<p>{_prose(schema['description'])}</p>" if "description" in schema else ""
    needed = schema.get("required", [])
    fields = schema.get("properties", {}).items()
    rows = "".join(_row(field, kind, kind.get("description", ""), "", field in needed) for field, kind in fields)
    return f'<h3 id="{escape(name)}">{escape(name)}</h3>{about}{_table(rows) if rows else f"<p>{type_of(schema)}</p>"}'


def _table(rows: str) -> str:
    return f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'


def _row(name: str, schema: Schema, description: str, place: str, needed: bool | None) -> str:
    default = schema.get("default")
    words = [type_of(schema), place, "required" if needed else "", *bounds_of(schema)]
    words += [f"default <code>{escape(json.dumps(default))}</code>"] if default not in (None, "") else []
    kind = ", ".join(filter(None, words))
    return f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{kind}</td><td>{_prose(description)}</td></tr>'


def type_of(schema: Schema) -> str:
    """The type in words, as HTML: a record by a link to it."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(type_of(kind) for kind in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f"<code>{escape(json.dumps(value))}</code>" for value in schema["enum"])
    if isinstance(schema.get("items"), Mapping):
        return f"list of {type_of(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {type_of(schema['additionalProperties'])}"
    return escape(str(schema.get("format") or schema.get("type") or "anything"))


def bounds_of(schema: Schema) -> Iterator[str]:
    kinds = [schema, *schema.get("anyOf", [])]
    for word, text in (("minimum", "from"), ("maximum", "to"), ("maxLength", "up to")):
        found = next((kind[word] for kind in kinds if word in kind), None)
        if found is not None:
            yield f"{text} {found:,}{' characters' if word == 'maxLength' else ''}"


def _prose(text: str) -> str:
    """Text with `words` of code in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
