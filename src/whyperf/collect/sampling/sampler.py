"""The recorder's side of sampling: the rings that the target fills, drained into the raw log by one thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyperf.collect import _session
from whyperf.collect.sampling.components import Components
from whyperf.collect.sampling.variables_files import VariablesTables
from whyperf.collect.setup.folder import RecordingFolder
from whyperf.collect.setup.rate import SamplingPlan
from whyperf.collect.setup.start import Start, write_start
from whyperf.collect.target.program import Program, executed_file, is_followable
from whyperf.collect.target.sanitizers import first_libraries
from whyperf.collect.usage.totals import thread_names
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.log_writer import RawLogWriter
from whyperf.recording.safe_files.private_folders import cache_root, private_folder
from whyperf.recording.sealed.manifest import Totals

if TYPE_CHECKING:
    from whyperf.collect.usage.blocked import BlockedSampler

DRAIN_EVERY_S = 0.1
FAULT_INTERVAL = 64  # page faults for each sample: one in 256 KiB
DRAIN_MEMORY_EVERY_S = 0.005  # allocations come in bursts
LOOK_EVERY_S = 1.0
SYNC_EVERY_S = 2.0
_RESERVE_BYTES = 64 * 1024

LIBRARY = Path(_session.__file__).parent / "libwhyperf_sampler.so"
MEMORY_LIBRARY = LIBRARY.with_name("libwhyperf_memory.so")  # samples allocations as well


def tables_folder() -> Path:
    """Where unwind tables are kept by build-id, for all recordings of this user."""
    return cache_folder("unwind")


def cache_folder(name: str) -> Path:
    """One of this user's caches."""
    return _made(cache_root() / name)


def _made(folder: Path) -> Path:
    try:
        return private_folder(folder)
    except OSError as error:
        raise WhyperfError(
            f"The cache folder {folder} cannot be created: {error.strerror}.",
            "export XDG_CACHE_HOME=$(mktemp -d)",
        ) from None


class Sampler:
    """Records one target: everything between making the folder and the last chunk of the raw log."""

    def __init__(
        self,
        folder: RecordingFolder,
        start: Start,
        plan: SamplingPlan,
        values_depth: int = 0,
    ) -> None:
        memory_interval = start.sampling.memory_interval
        self._library = MEMORY_LIBRARY if memory_interval else LIBRARY
        self._drain_every_s = DRAIN_MEMORY_EVERY_S if memory_interval else DRAIN_EVERY_S
        self._rings = folder.raw / "rings"
        self._reserve = folder.raw / "reserve"
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._names: dict[int, str] = {}
        self._first: list[str] = []
        self._is_loaded = True
        self._retired = 0.0  # when rings of threads that had gone were last freed
        self._mistake: Exception | None = None
        self.disk_full = False
        components = Components(start.values.components)
        try:
            write_start(folder.raw, start)
            # Room to say how it ended, on a disk that the recording itself has filled.
            self._reserve.write_bytes(b"\0" * _RESERVE_BYTES)
            _session.create(
                str(self._rings.absolute()),
                plan.rate_hz,
                plan.use_perf_events,
                str(_made(components.folder(tables_folder()))),
                str(preloadable(self._library)),
                values_depth,
                memory_interval,
                FAULT_INTERVAL if memory_interval else 0,
            )
            self._log = RawLogWriter(folder.raw, start.sampling.max_bytes)
            self._drainer = _session.Drainer(str(self._rings.absolute()))
        except OSError as error:
            raise WhyperfError(
                f"{folder.path} cannot be written: {error.strerror}.", f"df -h {folder.path.parent}"
            ) from None
        self._thread = threading.Thread(target=self._drain_until_stopped, name="drain", daemon=True)
        self._totals: Callable[[], Totals | None] = lambda: None
        self._variables = VariablesTables(tables_folder(), self._library, components) if values_depth else None
        self._learning: threading.Thread | None = None

    def started(self, program: Program) -> Program:
        """The program itself: the sampler comes with its environment, where it can be loaded at all."""
        self._is_loaded = is_followable(program)
        self._first = first_libraries(executed_file(program))
        return program

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The target's environment: the user's own, with the sampler before whatever else is preloaded. What the
        program needs before that is taken out with it, inside the target. Where it is not loaded, nothing is set."""
        if not self._is_loaded:
            return dict(base)
        preloaded = " ".join(filter(None, (*self._first, str(self._library), base.get("LD_PRELOAD"))))
        return {**base, "LD_PRELOAD": preloaded, "WHYPERF_SESSION": str(self._rings.absolute())}

    def prepare_variables(self, program: str) -> None:
        """So that the first sample of the program already has values."""
        if self._variables is not None:
            self._variables.prepare(program)

    def start(self, totals: Callable[[], Totals | None]) -> None:
        """Begins to drain; `totals` is asked once a second for what the target has used so far."""
        self._totals = totals
        self._thread.start()

    def append(self, kind: str, **fields: Any) -> None:
        """A JSON chunk of the raw log. Once the disk is full nothing more is written."""
        self._write(lambda: self._log.append_json({"type": kind, **fields}))

    def append_chunk(self, kind: int, payload: bytes) -> None:
        """Any other chunk of the raw log, from any thread."""
        self._write(lambda: self._append_bounded(kind, payload))

    def live_threads(self) -> list[tuple[int, int]]:
        """Process and thread numbers of everything that samples itself now."""
        return [(pid, tid) for pid, tid, *_ in self._live()]

    def blocked_threads(self, rate_hz: float) -> BlockedSampler:
        """Looks at those threads from outside while they wait."""
        from whyperf.collect.usage.blocked import BlockedSampler, ThreadRef

        return BlockedSampler(
            tables_folder(), lambda: [ThreadRef(*thread) for thread in self._live()], self.append_chunk, rate_hz
        )

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        """Drains what is left and closes the log with what was used, what was lost and how it ended.

        `notes` gets one more for a component that means nothing, and when the disk was full.
        """
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._drainer.stop()
        self._drain()
        notes += self._unmatched_components()
        with self._guard:
            if self.disk_full:
                notes.append("The disk was full: the target ran on, but was recorded only until then.")
                stop["stopped_by"] = "disk-full"
                self._reserve.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._log.append_json({"type": "totals", "time": time, "at": "stop", "totals": asdict(totals)})
                self._log.append_json({"type": "losses", "notes": notes, "counters": self._drainer.counters()})
                self._log.append_json({"type": "stop", "time": time, **stop})
                self._log.sync()
            self._reserve.unlink(missing_ok=True)
            self._log.close()
        if self._mistake is not None:
            raise self._mistake

    def _live(self) -> list[tuple[int, int, int, int]]:
        with self._guard:
            return self._drainer.live()

    def _drain_until_stopped(self) -> None:
        try:
            self._keep_draining()
        except Exception as error:
            # Not the target's business: it runs on, and the recording ends here.
            self._mistake = error
            self._drainer.stop()

    def _keep_draining(self) -> None:
        looked = synced = time.monotonic()
        while not self._stopping.wait(self._drain_every_s) and not self.disk_full:
            self._drain()
            now = time.monotonic()
            if now - looked >= LOOK_EVERY_S:
                looked = now
                self._look()
            if now - synced >= SYNC_EVERY_S:
                synced = now
                self._write(self._log.sync)

    def _drain(self) -> None:
        self._write(self._drain_rings)

    def _append_bounded(self, kind: int, payload: bytes) -> None:
        """Files must stay small where much comes at once, or the bound on all of them would drop all of it."""
        self._log.append(kind, payload)
        if self._log.rotate():
            self._drainer.new_log_file()

    def _drain_rings(self) -> None:
        self._drainer.drain(self._log.fileno())
        if self._log.rotate():
            self._drainer.new_log_file()
        # Often, because programs may start threads and processes by the thousand.
        if time.monotonic() - self._retired >= DRAIN_EVERY_S:
            self._retired = time.monotonic()
            self._drainer.retire_dead()

    def _learn_variables(self) -> None:
        """Tables of what was loaded or started since, made aside because draining must go on."""
        if self._variables is None or (self._learning is not None and self._learning.is_alive()):
            return
        modules = self._drainer.modules()
        if self._variables.new_among(modules):
            self._learning = threading.Thread(target=self._make_tables, args=(modules,), name="variables", daemon=True)
            self._learning.start()

    def _make_tables(self, modules: list[tuple[str, bytes]]) -> None:
        if self._variables is not None and self._variables.take_in(modules):
            with contextlib.suppress(ValueError):  # closed meanwhile
                self._drainer.announce_tables()

    def _unmatched_components(self) -> list[str]:
        """In words, once everything that was loaded has been looked at."""
        if self._variables is None or not self._variables.unmatched:
            return []
        if self._learning is not None:
            self._learning.join()
        self._variables.take_in(self._drainer.modules())
        return [
            f"--component {glob} is no program, library, source file or function of what ran: nothing was read for it."
            for glob in self._variables.unmatched
        ]

    def _look(self) -> None:
        self._learn_variables()
        for pid in {pid for pid, _ in self.live_threads()}:
            for tid, name in thread_names(pid).items():
                if self._names.get(tid) != name:
                    self._names[tid] = name
                    self.append("thread-name", pid=pid, tid=tid, name=name)
        totals = self._totals()
        if totals is not None:
            self.append("totals", time=time.monotonic_ns(), at="running", totals=asdict(totals))

    def _write(self, action: Callable[[], object]) -> None:
        """One access to rings and log. When the disk is full the target stops filling its rings, and runs on."""
        with self._guard:
            if self.disk_full:
                return
            try:
                action()
            except OSError:
                self.disk_full = True
                self._drainer.stop()


def preloadable(library: Path) -> Path:
    """The library itself; a sentence if the dynamic linker would not load it."""
    if not library.is_file():
        raise WhyperfError(
            f"{library} is missing: whyperf is not fully installed.",
            "pip install --force-reinstall whyperf",
        )
    if any(character in str(library) for character in " :\n"):
        raise WhyperfError(
            f"whyperf is installed in {library.parent}, and the dynamic linker preloads nothing from a folder with a "
            "space or a colon in its name.",
            "python3 -m venv ~/.whyperf && ~/.whyperf/bin/pip install whyperf",
        )
    return library
