"""Workers: how each is, and how many this server keeps."""

from fastapi import APIRouter

from nephila.api.access import guarded
from nephila.api.problems import Problem
from nephila.api.schemas import LocalCount, WorkerList, WorkerView
from nephila.api.services import Services, Shared
from nephila.frontier.operators import Access

router = APIRouter(tags=["workers"])


@router.get("/workers", **guarded(Access.READ))
def list_workers(shared: Shared) -> WorkerList:
    """Of every machine, those that ended lately included."""
    return _listed(shared)


@router.put("/workers/local", **guarded(Access.ADMIN, 409))
def set_local_workers(shared: Shared, body: LocalCount) -> WorkerList:
    """Worker processes of this server: new ones start at once, surplus ones finish what is in flight."""
    if shared.crew is None:
        raise Problem(409, "this server keeps no workers", hint="start it with `nephila serve`")
    shared.crew.resize(body.count)
    return _listed(shared)


def _listed(shared: Services) -> WorkerList:
    with shared.pool.use() as store:
        found = store.catalog.workers()
    local = shared.crew.size if shared.crew else None
    return WorkerList(workers=[WorkerView.model_validate(worker) for worker in found], local=local)
