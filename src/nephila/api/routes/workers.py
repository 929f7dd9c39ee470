"""Workers: how each is, and how many this server keeps."""

from pydantic import Field

from nephila.api.access import guarded
from nephila.api.problems import Problem
from nephila.api.routers import noun_router
from nephila.api.schemas import Body, View, view_of
from nephila.api.services import Services, Shared
from nephila.frontier.records import WorkerRow
from nephila.frontier.store import Vitals
from nephila.frontier.tokens import Access

LOCAL_WORKERS_MAX = 64

router = noun_router("workers")


@view_of(
    Vitals,
    pages=Field(description="URLs that were answered and ended in this session", examples=[980]),
    pages_per_s=Field(description="URLs that were answered and ended per second, lately", examples=[12.4]),
    rss_bytes=Field(description="memory in use", examples=[148897792]),
    received_per_s=Field(description="bytes received per second, lately", examples=[604112.5]),
    sent_per_s=Field(description="bytes sent per second, lately", examples=[5210.0]),
)
class VitalsView(View):
    cpu: float = Field(description="cores in use: 1.0 is one whole core", examples=[0.62])


@view_of(
    WorkerRow,
    id=Field(description="number of this session of the worker; a worker that joins anew has another", examples=[3]),
    name=Field(description="WORKER_ID of its environment, else the name of its machine", examples=["crawler-1"]),
    pid=Field(description="number of its process, on its machine", examples=[4242]),
    version=Field(description="version of Nephila that it runs", examples=["0.1.0"]),
    started_at=Field(description="when the session began", examples=["2026-03-02T09:30:00Z"]),
    seen_at=Field(description="when the store heard of it last", examples=["2026-03-02T10:12:41Z"]),
    alive=Field(description="false: it has ended, or was taken for dead", examples=[True]),
    partitions=Field(description="groups of hosts that it owns, of 256", examples=[128]),
    in_flight=Field(description="requests under way", examples=[12]),
    flushes=Field(description="batches that it has committed", examples=[512]),
)
class WorkerView(View):
    vitals: VitalsView = Field(description="figures of its process; nothing is decided by them")
    current: list[str] = Field(
        description="URLs in flight, the oldest first, ten at most", examples=[["https://example.com/docs/"]]
    )


class WorkerList(View):
    workers: list[WorkerView] = Field(description="living ones, and those that ended lately")
    local: int | None = Field(description="worker processes that this server keeps; null: it keeps none", examples=[2])


class LocalCount(Body):
    count: int = Field(
        ge=0, le=LOCAL_WORKERS_MAX, description="worker processes that this server keeps from now on", examples=[4]
    )


@router.get("/workers", **guarded(Access.READ))
def list_workers(shared: Shared) -> WorkerList:
    """List the workers of every machine.

    Those that ended lately included, with what each does now.
    """
    return _listed(shared)


@router.put("/workers/local", **guarded(Access.ADMIN, 409))
def set_local_workers(shared: Shared, body: LocalCount) -> WorkerList:
    """Set how many workers this server keeps.

    New ones start at once, surplus ones finish what is in flight. Workers on other machines are not touched.
    """
    if shared.crew is None:
        raise Problem(409, "this server keeps no workers", hint="start it with `nephila serve`")
    shared.crew.resize(body.count)
    return _listed(shared)


def _listed(shared: Services) -> WorkerList:
    with shared.pool.use() as store:
        workers = store.catalog.workers()
    return WorkerList.model_validate({"workers": workers, "local": shared.crew.size if shared.crew else None})
