"""What the parse pool and its helpers say to each other."""

import pickle

import pytest

from nephila.extract import frames
from nephila.extract.frames import LinkDecoder, LinkEncoder, frame_of, job_frames, take_frames
from nephila.extract.reader import PageReading
from nephila.models import Refusal
from nephila.urls.admission import Example, Found
from nephila.urls.identity import url_key


def link(name: str, raw: str = "") -> Found:
    url = f"https://a.example/{name}"
    return Found(url, "a.example", url_key(url), raw or name)


def reading(*links: Found) -> PageReading:
    refused = {("b.example", Refusal.SCOPE, ""): 2}
    found = PageReading("utf-8", "T", {"language": "en"}, list(links), refused, ["https://b.example/"], True)
    found.examples = [Example("b.example", Refusal.SCOPE, "", "https://b.example/")]
    return found


def trip(encoder: LinkEncoder, decoder: LinkDecoder, sent: PageReading) -> PageReading:
    return decoder.unpacked(pickle.loads(pickle.dumps(encoder.packed(sent))))


A, B, C = link("a"), link("b"), link("c")


@pytest.mark.parametrize(
    "pages", [[()], [(A, B)], [(A, B), (B, A)], [(A,), (), (C, A, B), (A, B, C)], [(A,), (link("a", "./a"),), (A,)]]
)
def test_readings_survive_the_trip(pages: list[tuple[Found, ...]]) -> None:
    encoder, decoder = LinkEncoder(), LinkDecoder()
    for links in pages:
        assert trip(encoder, decoder, reading(*links)) == reading(*links)


def test_a_link_is_told_in_full_once() -> None:
    encoder = LinkEncoder()
    first, again = (len(pickle.dumps(encoder.packed(reading(A, B)))) for _ in range(2))
    assert first - again > len(A.url) + len(B.url)


def test_when_it_is_full_both_sides_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LINKS_CACHED", 5)
    encoder, decoder = LinkEncoder(), LinkDecoder()
    for number in range(40):
        page = reading(*(link(str(n)) for n in range(number % 9)))  # also more links than are remembered
        assert trip(encoder, decoder, page) == page
        assert len(decoder._links) <= 8


def test_what_may_not_have_arrived_is_told_again() -> None:
    encoder, decoder = LinkEncoder(), LinkDecoder()
    encoder.packed(reading(A))  # and lost
    encoder.forget()
    assert trip(encoder, decoder, reading(A, B)) == reading(A, B)
    assert trip(encoder, decoder, reading(B)) == reading(B)


def test_frames_come_in_any_pieces() -> None:
    stream, buffer, seen = frame_of(("a", 1)) + frame_of(("b", b"x" * 1000)), bytearray(), []
    for at in range(0, len(stream), 7):
        buffer += stream[at : at + 7]
        seen += take_frames(buffer)
    assert seen == [("a", 1), ("b", b"x" * 1000)]
    assert not buffer


def test_a_body_is_a_frame_that_is_not_copied() -> None:
    body = b"<html>" * 1000
    head, sent = job_frames(("id", None), body)
    assert sent is body
    assert head == frame_of(("id", None)) + frames.LENGTH.pack(len(body))
