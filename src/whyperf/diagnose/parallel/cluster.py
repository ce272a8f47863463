"""The work of a comparison done by the workers of a Dask cluster, which read the recordings where they are.

What travels is names of recordings, indexes made from them, and results: never samples or values. A worker that dies
costs what it was doing, which others do again.
"""

from __future__ import annotations

import logging
import pickle
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import metadata
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from whyperf.engines.execution import Item, Result, Shared
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from distributed import Client, Future

Tell = Callable[[str, int, int], None]  # what is being done, how much of it is, and of how much

_USUAL_PORT = 8786
_CONNECT_S = 10.0
_LOOK_EVERY_S = 0.5
# Of these the result's last digits depend.
_PACKAGES = ("whyperf", "numpy", "pyarrow")


def scheduler_at(text: str) -> str:
    """Dask's own spelling of dask://HOST:PORT; ValueError for anything else."""
    found = urlsplit(text)
    if found.scheme != "dask" or not found.hostname or found.path not in ("", "/"):
        raise ValueError(text)
    host = f"[{found.hostname}]" if ":" in found.hostname else found.hostname
    return f"tcp://{host}:{found.port or _USUAL_PORT}"


class Cluster:
    def __init__(self, address: str, tell: Tell, *, patience_s: float = 60.0) -> None:
        """`patience_s`: how long to wait for workers when there are none."""
        self._address, self._tell, self._patience_s = address, tell, patience_s
        self._client = _connected(address)
        try:
            self._last_worker_seen = time.monotonic()
            while not self._workers():
                self._has_workers()
                time.sleep(_LOOK_EVERY_S)
            self._refuse_others()
        except BaseException:
            self._client.close(timeout=1)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close(timeout=5)

    def map(
        self, doing: str, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            # A task that makes it, so that it can be made again where the worker that held it has died.
            held = self._client.submit(_Shipped, pickle.dumps((function, shared)), pure=False)
            futures = self._client.map(
                _work, [pickle.dumps(item) for item in items], shipped=held, environment=_environment(), pure=False
            )
        self._last_worker_seen = time.monotonic()
        try:
            for done, future in enumerate(futures):
                self._tell(doing, done, len(items))
                yield self._result(doing, future)
                future.release()
        finally:
            self._client.cancel([held, *futures])

    def _result(self, doing: str, future: Future) -> Any:
        from distributed import CancelledError, KilledWorker

        done = Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_LOOK_EVERY_S):
            self._has_workers()
        try:
            return future.result(timeout=self._patience_s)
        except KilledWorker:
            raise WhyperfError(
                f"Several workers died one after the other while {doing}, perhaps for want of memory.",
                f"dask worker {self._address} --nthreads 1 --memory-limit 0",
            ) from None
        except (CancelledError, TimeoutError):
            raise self._gone() from None
        except ModuleNotFoundError as error:
            raise _lacks(error.name or "whyperf") from None

    def _has_workers(self) -> None:
        """Raises if there are none, and were none for too long."""
        if self._workers():
            self._last_worker_seen = time.monotonic()
        elif time.monotonic() - self._last_worker_seen > self._patience_s:
            raise WhyperfError(
                f"The cluster at {self._address} has had no worker for {self._patience_s:.0f} seconds.",
                f"dask worker {self._address} --nthreads 1",
            )

    def _workers(self) -> Sequence[str]:
        try:
            return list(self._client.nthreads())
        except OSError:
            raise self._gone() from None

    def _refuse_others(self) -> None:
        """Workers in which the same work may come to something else."""
        try:
            found = self._client.run(_environment, on_error="return")
        except OSError:
            raise self._gone() from None
        for environment in found.values():
            if isinstance(environment, ModuleNotFoundError):
                raise _lacks(environment.name or "whyperf")
            if isinstance(environment, dict):
                _refuse(environment, _environment())

    def _gone(self) -> WhyperfError:
        return WhyperfError(f"The Dask scheduler at {self._address} has gone.", "dask scheduler")


class _Shipped:
    """What all tasks of a map have in common; opened by the worker's first of them."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __getstate__(self) -> dict[str, bytes]:
        return {"content": self.content}

    @cached_property
    def opened(self) -> tuple[Callable[[Any, Any], Any], Any]:
        opened: tuple[Callable[[Any, Any], Any], Any] = pickle.loads(self.content)
        return opened


def _work(item: bytes, *, shipped: _Shipped, environment: dict[str, str]) -> Any:
    _refuse(_environment(), environment)
    function, shared = shipped.opened
    return function(shared, pickle.loads(item))


def _environment() -> dict[str, str]:
    known = {name: metadata.version(name) for name in _PACKAGES}
    return {"host": platform.node(), "Python": ".".join(platform.python_version_tuple()[:2]), **known}


def _refuse(worker: dict[str, str], client: dict[str, str]) -> None:
    for name, version in client.items():
        if name != "host" and worker.get(name) != version:
            raise WhyperfError(
                f"The worker on {worker['host']} has {name} {worker.get(name, 'of no known version')}, and here it is "
                f"{version}: they might not come to the same result.",
                f"pip install {name}=={version}" if name != "Python" else f"python{version} -m venv whyperf",
            )


def _lacks(module: str) -> WhyperfError:
    return WhyperfError(
        f"Scheduler and workers need what is installed here, and one of them has no {module}.",
        "pip install 'whyperf[cluster]'",
    )


def _silence_dask() -> None:
    """What concerns users is said in sentences, not in tracebacks."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("asyncio", "distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _connected(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise WhyperfError(
            "A cluster is reached by Dask, which is not installed.", "pip install 'whyperf[cluster]'"
        ) from None
    _silence_dask()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions: those that matter are compared
            return Client(address, timeout=_CONNECT_S, set_as_default=False, name="whyperf")
    except (OSError, TimeoutError):
        raise WhyperfError(f"No Dask scheduler answers at {address}.", "dask scheduler") from None
