"""A worker: one process, one event loop, one flush thread. It lives through sessions, one after the other."""

import asyncio

from nephila import log as logs
from nephila.errors import Fenced
from nephila.worker.parts import WorkerParts
from nephila.worker.right import StoreThread
from nephila.worker.session import Session

DRAIN_MS = 1500.0  # for requests in flight when the worker stops: its hosts are to be another's within 2 s


class Worker:
    """Its parts are its own: it closes them when its run is over. Needs a running event loop."""

    def __init__(self, parts: WorkerParts) -> None:
        self.parts = parts
        self.session: Session | None = None
        self._store = StoreThread(parts.report)
        self._loop = asyncio.get_running_loop()

    async def run(self) -> None:
        parts, cut_off_tick = self.parts, 0.0
        try:
            while not self._store.stopping:
                worker_id = await self._store.insist(parts.store.join, parts.info)
                if worker_id is not None:
                    self.session = Session(worker_id, parts, self._store, cut_off_tick)
                    await self._live(self.session)
                    cut_off_tick = parts.clock.tick_ms()
        finally:
            await parts.reader.close()
            await parts.fetcher.close()
            await parts.resolver.close()
            self._store.shutdown()

    async def _live(self, session: Session) -> None:
        try:
            await session.run()
        except Fenced as fenced:
            self.parts.metering.fenced()
            logs.component_log("worker", workerId=session.id).warning("fenced", detail=str(fenced))
            await session.drop()

    def stop(self) -> None:
        """Finish what is in flight, flush, hand everything back. Called again: end what is in flight."""
        if self._store.stopping:
            self.parts.fetcher.abort()
            self.parts.reader.abort()
        else:
            self._store.stopping = True
            self._loop.call_later(DRAIN_MS / 1000, self.stop)
        if self.session is not None:
            self.session.dispatcher.flush_now.set()
