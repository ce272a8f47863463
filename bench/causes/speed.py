"""How long a diagnosis of two million made-up events takes: many clients of a server with workers, one slow request.

python -m bench.causes.speed [EVENTS]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.engines.causes.scripted import SOCKET, Script, socket
from tests.engines.made import Made

from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.paper.comparison import PaperMethod

EPOLL = ["main", "loop", "libc:epoll_wait"]


def turns(*, slow: bool, clients: int) -> Script:
    """One turn for each of many clients."""
    script = Script()
    at = 10.0
    for client in range(clients):
        name, mine, theirs = f"client-{client}", 2 * client + 2, 2 * client + 3
        long = 2000.0 if slow and client == clients // 2 else 0.3
        script.asleep("server", at - 5 if client == 0 else at - 0.1, at, "epoll_wait", EPOLL, by=name,
                      waker_call="write", returns=1)  # fmt: skip
        script.did(name, at + 0.005, "write", 10, **socket(mine, theirs))
        script.did("server", at + 0.05, "read", 10, ["main", "loop", "receive"], **socket(theirs, mine))
        script.busy("server", at + 0.06, at + long, ["main", "loop", "scan" if long > 1 else "get"])
        script.did(
            "server",
            at + long + 0.01,
            "write",
            9,
            ["main", "loop", "reply"],
            object=SOCKET | theirs,
            peer=SOCKET | mine,
        )
        script.asleep(name, at + 0.02, at + long, "read", ["main", "ask", "libc:read"], by="server",
                      **socket(mine, theirs), waker_call="write", returns=9)  # fmt: skip
        at += long + 0.2
    return script


def repeated(made: Made, events: int) -> Made:
    """The first turns over and over, then all of it: tables as long as asked for."""
    once = made.tables["events"]
    times = max(1, events // once.num_rows)
    span = int(once.column("time")[-1].as_py()) + 1_000_000
    plain = turns(slow=False, clients=40).made().tables["events"]
    pieces = []
    for number in range(times):
        piece = plain if number != times - 1 else once
        shifted = pa.array(piece.column("time").to_numpy() + np.int64(number * span))
        pieces.append(piece.set_column(0, piece.schema.field("time"), shifted))
    while sum(piece.num_rows for piece in pieces) < events:
        pieces.insert(0, plain)
    joined = pa.concat_tables(pieces).sort_by("time").combine_chunks()
    return replace(made, tables={**made.tables, "events": joined})


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    stalled, normal = (repeated(turns(slow=slow, clients=40).made(), events) for slow in (True, False))
    for name in ("cold", "warm"):
        begin = time.perf_counter()
        causes = find_causes(stalled, [normal])
        took = time.perf_counter() - begin
        print(f"{name}: {stalled.tables['events'].num_rows:,} events each, {len(causes.graph.segments):,} segments, "
              f"{len(causes.stalls)} stalls, {took:.2f} s")  # fmt: skip
    begin = time.perf_counter()
    found = PaperMethod(causes.roles, causes.normals[0]).culprits(causes.stalls[0].anomaly)
    print(f"as in the paper: {len(found)} culprits, {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
