"""What system calls are about, found in the kernel's own tables: whichever way these are read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.collect.tracer.tracing import Tracing, needs_bpf
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EventKind

# Prints, of each descriptor that it reads a byte from: its inode and type, and what its other end is.
_READS = """
import os, socket, tempfile

def identity(descriptor):
    about = os.fstat(descriptor)
    return about.st_ino | (about.st_mode & 0o170000) << 48

def told(descriptor, peer=0):
    print(identity(descriptor), peer, os.read(descriptor, 1) == b"x")

file = tempfile.TemporaryFile()
file.write(b"x")
file.seek(0)
told(file.fileno())
end, other = os.pipe()
os.write(other, b"x")
told(end)
one, two = socket.socketpair()
two.send(b"x")
told(one.fileno(), identity(two.fileno()))
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
served, _ = server.accept()
served.send(b"x")
told(client.fileno(), client.getsockname()[1] << 16 | client.getpeername()[1])
"""


@needs_bpf
@pytest.mark.parametrize("without", [[], ["bpf_rdonly_cast"]], ids=["directly", "as before Linux 6.2"])
def test_a_read_tells_what_it_read_from(tmp_path: Path, without: list[str]) -> None:
    with Tracing(tmp_path, without=without) as tracing:
        seen, pid, lines = tracing.run([sys.executable, "-c", _READS])
    reads = seen.of(EventKind.SYSCALL, pid=pid, detail=NUMBERS["read"])
    found = {(int(one["object"]), int(one["peer"])) for one in reads[reads["result"] == 1]}
    assert len(lines) == 4
    for line in lines:
        identity, peer, right = line.split()
        assert right == "True"
        assert (int(identity), int(peer)) in found
