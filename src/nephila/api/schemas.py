"""What the records of all nouns share; each noun's own are beside its routes. Unknown fields of a body are refused."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from nephila.api.query import PlainText

WEEK_MS = 7 * 86_400_000
REASON_CHARS_MAX = 500


def _moment(value: object) -> object:
    return datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, int | float) else value


Moment = Annotated[datetime, BeforeValidator(_moment)]
Ms = Annotated[int, Field(ge=0, le=WEEK_MS)]
ReasonText = Annotated[PlainText, Field(max_length=REASON_CHARS_MAX)]


class Body(BaseModel):
    """What comes in."""

    model_config = ConfigDict(extra="forbid")


class View(BaseModel):
    """What goes out."""

    model_config = ConfigDict(from_attributes=True)


V = TypeVar("V", bound=View)


def view_of(record: type, *left_out: str, **words: Any) -> Callable[[type[V]], type[V]]:
    """Decorator of a View: it has the fields of `record`, in their order, with their types.

    `words` describe them, each a `Field` with a description and examples. The view itself declares the fields that have
    another type, and those that the record lacks. What ends in `_at` is a time.
    """

    def filled(view: type[V]) -> type[V]:
        own: dict[str, Any] = {name: (field.annotation, field) for name, field in view.model_fields.items()}
        hints = get_type_hints(record).items()
        taken = [(name, hint) for name, hint in hints if name not in left_out]
        fields = {name: own.pop(name, (_shown(name, hint), words.get(name, ...))) for name, hint in taken}
        kept: dict[str, Any] = {"__base__": view.__base__, "__doc__": view.__doc__, "__module__": view.__module__}
        return cast(type[V], create_model(view.__name__, **kept, **fields, **own))  # the same view, completed

    return filled


def _shown(name: str, hint: Any) -> Any:
    if not name.endswith("_at"):
        return hint
    return Moment if hint is int else Moment | None
