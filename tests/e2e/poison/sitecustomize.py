"""Loaded by the processes of the poison test: a page with the marker kills whoever parses it, as a bug might."""

import os

MARKER = os.environ.get("NEPHILA_TEST_POISON", "").encode()

if MARKER:
    import nephila.extract.page as page

    harmless = page.extract_html

    def extract_html(body: bytes, *rest: object, **more: object) -> object:
        if MARKER in body:
            os.abort()
        return harmless(body, *rest, **more)  # type: ignore[arg-type]

    page.extract_html = extract_html  # type: ignore[assignment]
