"""Recordings larger than the memory there is: the same stalls are found in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.cgroup import memory_limited
from tests.engines.causes.walk.test_stall_walk import conversation
from whyperf.recording import file_backed
from whyperf.recording.schemas.events import EVENTS
from whyperf.recording.sealed.writer import write_recording

_LIMIT = 300 << 20
_EVENTS = 5_000_000
_BYTES_AN_EVENT = 67  # the columns of `Events`
_AT_ONCE = 200_000  # events

_DIAGNOSE = """
import json, sys, threading
from pathlib import Path
from whyperf.engines.causes.diagnosis import find_causes
from whyperf.engines.causes.findings import findings
from whyperf.recording.file_backed import large_arrays_in_files
from whyperf.recording.sealed.reader import Recording

most, over = 0, threading.Event()

def watch():
    global most
    while not over.wait(0.005):
        status = Path("/proc/self/status").read_text()
        most = max(most, int(status.partition("RssAnon:")[2].split()[0]) << 10)

watching = threading.Thread(target=watch)
watching.start()
with large_arrays_in_files(16 << 20):  # less than usual: a smaller recording does
    found = findings(find_causes.__wrapped__(Recording(sys.argv[1]), []))
over.set()
watching.join()
print(json.dumps({"anonymous": most, "findings": [repr(one) for one in found]}))
"""


def _long(folder: Path) -> Path:
    """One slow answer after millions of quick ones."""
    quick, slow = conversation(slow=False).made(), conversation(slow=True).made()
    usual, last = quick.table("events"), slow.table("events")
    time = usual.column("time").to_numpy()
    length = int(time[-1] - time[0]) + 1_000_000
    few = -(-_AT_ONCE // len(time))
    batch = pa.concat_tables([_later(usual, turn * length) for turn in range(few)]).combine_chunks()
    times = _EVENTS // batch.num_rows

    def pieces() -> Iterator[pa.RecordBatch]:
        for turn in range(times):
            yield from _later(batch, turn * few * length).combine_chunks().to_batches()
        yield from _later(last, times * few * length).combine_chunks().to_batches()

    manifest = replace(slow.manifest, end_monotonic=(times * few + 10) * length)
    events = pa.RecordBatchReader.from_batches(EVENTS.schema, pieces())
    write_recording(folder, manifest, {**slow.tables, "events": events})
    return folder


def _later(events: pa.Table, by_ns: int) -> pa.Table:
    moved = pa.array(events.column("time").to_numpy() + np.int64(by_ns))
    return events.set_column(events.schema.get_field_index("time"), events.schema.field("time"), moved)


@pytest.mark.long
def test_a_recording_larger_than_memory_tells_what_it_tells_with_plenty(tmp_path: Path) -> None:
    if file_backed._folder_on_disk() is None:
        pytest.skip("no folder for temporary files is on a disk")
    # GIVEN a recording whose columns alone take more memory than there is
    recording = _long(tmp_path / "long")
    command = [sys.executable, "-c", _DIAGNOSE, str(recording)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    # WHEN it is looked at with all memory, and with little
    free = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    with memory_limited(_LIMIT) as limited:
        tight = limited.run(["env", f"PYTHONPATH={environment['PYTHONPATH']}", *command])
    # THEN it is the same, and the process' own memory is less than what the columns of so many events take
    assert tight.returncode == 0, tight.stderr[-2000:]
    told, expected = json.loads(tight.stdout), json.loads(free.stdout)
    assert told["findings"] == expected["findings"]
    assert len(expected["findings"]) == 1 and "scan_all" in expected["findings"][0]
    assert expected["anonymous"] < _LIMIT < _BYTES_AN_EVENT * _EVENTS
