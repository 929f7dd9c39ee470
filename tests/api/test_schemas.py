"""Views that take their fields from a record."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import Field

from nephila.api.schemas import View, view_of


@dataclass(frozen=True, slots=True)
class Record:
    id: int
    secret: bytes
    name: str
    made_at: int
    ended_at: int | None = None


class Pair(NamedTuple):
    left: int
    right: str


@view_of(Pair)
class PairView(View):
    pass


@view_of(Record, "secret")
class RecordView(View):
    """Said of the view."""

    name: str = Field(description="its name")
    pair: PairView


def test_a_view_has_the_fields_of_its_record_in_their_order_and_then_its_own() -> None:
    assert list(RecordView.model_fields) == ["id", "name", "made_at", "ended_at", "pair"]
    schema = RecordView.model_json_schema()
    assert schema["required"] == list(RecordView.model_fields), "a default of the record is none of the view"
    assert schema["properties"]["name"]["description"] == "its name"
    assert (schema["title"], schema["description"]) == ("RecordView", "Said of the view.")


def test_it_reads_records_of_any_kind_and_shows_times() -> None:
    fields = {"id": 1, "secret": b"x", "name": "n", "made_at": 1_700_000_000_000, "ended_at": None}
    shown = RecordView.model_validate(fields | {"pair": Pair(1, "r")}).model_dump()
    made = datetime.fromtimestamp(1_700_000_000, UTC)
    assert shown == {"id": 1, "name": "n", "made_at": made, "ended_at": None, "pair": {"left": 1, "right": "r"}}


def test_the_fields_of_its_record_are_described_with_the_view() -> None:
    @view_of(Record, "secret", id=Field(description="its number", examples=[7]), made_at=Field(description="when"))
    class Told(View):
        name: str = Field(description="its name")

    told = Told.model_json_schema()["properties"]
    assert (told["id"]["description"], told["id"]["examples"], told["id"]["type"]) == ("its number", [7], "integer")
    assert (told["made_at"]["description"], told["made_at"]["format"]) == ("when", "date-time")
    assert (told["name"]["description"], "description" in told["ended_at"]) == ("its name", False)
    assert Told.model_json_schema()["required"] == ["id", "name", "made_at", "ended_at"]


def test_a_view_of_a_view_inherits() -> None:
    class Detail(RecordView):
        more: str

    assert list(Detail.model_fields) == [*RecordView.model_fields, "more"]
