"""How long the graph, the search and a whole diagnosis take, of recordings on disk.

    python -m bench.causes.speed [--folder FOLDER] [--graph EVENTS] [--pair EVENTS]

The events are those of redis and its clients, repeated until there are enough. Each figure is of a fresh process whose
functions were compiled before. Goals: the graph of 12 million events within 30 s and 6 GB, a search within 1 s, all of
a diagnosis of two million events on either side within 15 s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.causes.cases import named, record
from whyperf.recording.events import EventKind
from whyperf.recording.reader import Recording
from whyperf.recording.tables import TABLES
from whyperf.recording.writer import write_recording

_CASE = "redis-keys"
_ONCE = (EventKind.FORK, EventKind.EXEC, EventKind.EXIT, EventKind.RENAME)  # a thread begins and ends only once
_BEGIN = """
import json, resource, sys, time
from whyperf.engines.causes.diagnosis import explain, find_causes
from whyperf.engines.causes.anomalies import find_anomalies
from whyperf.engines.causes.findings import findings
from whyperf.engines.causes.graph import Graph
from whyperf.engines.causes.paper.beam import origins, search
from whyperf.engines.causes.paper.comparison import anomaly_vertex
from whyperf.engines.causes.settings import CausesSettings
from whyperf.recording.reader import Recording
told, last = {}, time.perf_counter()
def done(what):
    global last
    told[what] = time.perf_counter() - last
    last = time.perf_counter()
"""
_GRAPH = """
graph = Graph(Recording(sys.argv[1]), CausesSettings())
graph.trace.events
done("read")
told["vertices"], told["edges"] = len(graph.segments), len(graph.edges.source)
done("graph")
"""
_PAIR = """
causes = find_causes(Recording(sys.argv[2]), [Recording(sys.argv[1])])
findings(causes)
done("causes")
told["stalls"] = len(causes.stalls)
anomalies = find_anomalies(causes.roles, causes.normals)
last = time.perf_counter()
explain(causes.roles, causes.normals, anomalies[:1])
done("walk")
vertex = anomaly_vertex(causes.graph, anomalies[0])
ends = origins(causes.graph)
last = time.perf_counter()
search(causes.graph.edges, vertex, ends)
done("beam search")
"""
_END = """
used = resource.getrusage(resource.RUSAGE_SELF)
told["memory"], told["cpu"] = used.ru_maxrss / 1e6, used.ru_utime + used.ru_stime
print(json.dumps(told))
"""


def enlarged(seed: Path, path: Path, count: int) -> Path:
    """The same recording with more events."""
    if path.exists():
        return path
    recording = Recording(seed)
    tables = {one.name: recording.table(one.name) for one in TABLES if one.name in recording.manifest.tables}
    events = tables["events"]
    again = events.filter(pc.invert(pc.is_in(events.column("kind"), pa.array(_ONCE, pa.uint8()))))
    length = int(events.column("time")[-1].as_py() - events.column("time")[0].as_py()) + 1_000_000
    parts = [events]
    for turn in range(1, 1 + -(-(count - events.num_rows) // again.num_rows)):
        later = pa.array(again.column("time").to_numpy() + np.int64(turn * length))
        parts.append(again.set_column(0, again.schema.field("time"), later))
    tables["events"] = pa.concat_tables(parts).slice(0, count).combine_chunks()
    path.mkdir()
    write_recording(path, recording.manifest, tables)
    return path


def timed(script: str, *recordings: Path) -> dict[str, float]:
    """What a fresh process tells; a first one compiles what is not compiled yet."""
    command = [sys.executable, "-c", _BEGIN + script + _END, *map(str, recordings)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--graph", type=int, default=12_000_000)
    parser.add_argument("--pair", type=int, default=2_000_000)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="whyperf-causes-"))
    folder.mkdir(exist_ok=True, parents=True)
    (case,) = named([_CASE])
    normal, stalled = (record(case, mode, folder) for mode in ("normal", "stalled"))

    large = enlarged(stalled, folder / f"speed.{args.graph}", args.graph)
    told = timed(_GRAPH, large)
    print(f"{args.graph:,} events from disk: read in {told['read']:.1f} s, graph in {told['graph']:.1f} s "
          f"({told['vertices']:,.0f} vertices, {told['edges']:,.0f} edges), {told['cpu']:.1f} s CPU of the "
          f"process, {told['memory']:.1f} GB; "
          f"load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip

    pair = [enlarged(one, folder / f"speed.{one.name}.{args.pair}", args.pair) for one in (normal, stalled)]
    told = timed(_PAIR, *pair)
    print(f"{args.pair:,} events on either side: causes in {told['causes']:.1f} s ({told['stalls']:.0f} stalls), "
          f"{told['cpu']:.1f} s CPU of the process, {told['memory']:.1f} GB; one walk {1000 * told['walk']:.0f} ms, "
          f"beam search {1000 * told['beam search']:.0f} ms; load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
    begin, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "whyperf", "diagnose", *map(str, pair), "--json", "-"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"the same by the command line, all engines: {time.perf_counter() - begin:.1f} s, {used:.1f} s CPU; "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
