"""Dask executor for sweeps: a cluster on this machine, or an existing cluster."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._executors import ATTEMPTS, Executor, Work, Workers
from ._fingerprint import source_of
from ._runner import Task

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 5.0
"""Timeout for the response of a scheduler [s]."""


@dataclass(frozen=True)
class Dask(Executor):
    """Executor on a Dask cluster. Each worker receives the work once; a task consists of runs and their parameters."""

    address: str = ""
    """Address of a scheduler, such as "tcp://10.0.0.1:8786". Defaults to a cluster on this machine."""
    workers: int | None = None
    """Number of workers of a cluster on this machine. Defaults to one worker per core."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is {self.workers}, must be at least 1")
        if self.address and self.workers is not None:
            raise ValueError(
                "both workers and address are given, but the workers of an existing cluster are already running; remove workers"
            )

    @contextlib.contextmanager
    def started(self, work: Work) -> Iterator[Workers]:
        try:
            import distributed
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "the executor dask requires dask.distributed; run pip install 'hydromechs[dask]'"
            ) from None
        with contextlib.ExitStack() as stack:
            if self.address:
                client = stack.enter_context(self._reached(distributed))
                if not client.scheduler_info(n_workers=-1)["workers"]:
                    raise ValueError(
                        f"scheduler {self.address} has no workers; start workers with `dask worker {self.address}`"
                    )
            else:
                cluster = stack.enter_context(local_cluster(distributed, self.workers))
                client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
            stack.enter_context(client.as_current())
            plugin = _plugin(distributed, work)
            client.register_plugin(plugin)
            stack.callback(client.unregister_worker_plugin, plugin.name)
            yield _Cluster(client, plugin.name)

    def _reached(self, distributed: Any) -> Client:
        try:
            # not the default: if it cannot connect, it would remain Dask's scheduler, and xarray would use it to write files
            return distributed.Client(self.address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ValueError(
                f"cannot reach a Dask scheduler at {self.address!r}: {error}; start `dask scheduler`, and set its "
                "address in the form tcp://10.0.0.1:8786"
            ) from None


def local_cluster(distributed: Any, workers: int | None) -> Any:
    """Return a Dask cluster on this machine, by default with one worker per core.

    Connections require the keys of this cluster, because a scheduler runs arbitrary code.
    """
    import dask

    with dask.config.set({"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}):
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=0,
            silence_logs=50,
            host="127.0.0.1",
            protocol="tls://",
            security=distributed.Security.temporary(),
        )


def _plugin(distributed: Any, work: Work) -> Any:
    """Return a scheduler plugin that sends work to every worker of a cluster, including workers that join later."""

    class OnWorker(distributed.WorkerPlugin):
        """Worker plugin with the work; each thread copies the work and keeps its compiled programs."""

        def __init__(self, name: str, work: Work) -> None:
            self.name, self.work, self.source = name, work, source_of()

        def setup(self, worker: Any) -> None:
            """Prepare a worker when it starts, or when the plugin is installed."""
            worker.hydromechs_work = threading.local()

    return OnWorker(f"hydromechs-{work.identity}", work)


def _run(plugin: str, task: Task) -> list[Any]:
    from distributed import get_worker

    worker: Any = get_worker()
    if worker.plugins[plugin].source != source_of():
        raise RuntimeError(
            f"the Dask worker {worker.address} has a different version of hydromechs; install the same version as the client"
        )
    mine = worker.hydromechs_work.__dict__
    if plugin not in mine:
        mine[plugin] = copy.copy(worker.plugins[plugin].work)
    return mine[plugin](task)


class _Cluster(Workers):
    def __init__(self, client: Client, plugin: str) -> None:
        self.client, self.plugin = client, plugin

    @property
    def count(self) -> int:  # type: ignore[override]  # it changes
        """Current number of workers."""
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Any] | None]]:
        from distributed import KilledWorker, as_completed

        futures = {
            self.client.submit(
                _run, self.plugin, task, key=f"{self.plugin}-{task.runs[0]}-{len(task.runs)}", retries=ATTEMPTS
            ): task
            for task in tasks
        }
        for future in as_completed(list(futures)):
            task = futures.pop(future)
            try:
                yield task, future.result()
            except KilledWorker:
                yield task, None
            except CancelledError as error:
                raise ConnectionError(
                    f"the Dask scheduler is not reachable ({error}); finished runs are stored; run the command again to resume"
                ) from None
            finally:
                future.release()
