"""`python slow_dns.py MILLISECONDS -- COMMAND ...`: runs a command where a slow name server answers.

Meant for `unshare --mount --net`: a name server on that network's own loopback, and a resolv.conf that names it, are
seen by the command alone.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

_HEADER = struct.Struct(">HHHHHH")
_QUESTION_TAIL = 4  # type and class
_PTR, _A = 12, 1


def answer(query: bytes) -> bytes:
    """PTR: host.example; A: 192.0.2.1; anything else: no records."""
    number, _, questions, *_ = _HEADER.unpack_from(query)
    end = query.index(b"\0", _HEADER.size) + 1 + _QUESTION_TAIL
    (kind,) = struct.unpack_from(">H", query, end - _QUESTION_TAIL)
    data = {_PTR: b"\4host\7example\0", _A: bytes([192, 0, 2, 1])}.get(kind)
    reply = _HEADER.pack(number, 0x8180, questions, 1 if data else 0, 0, 0) + query[_HEADER.size : end]
    if data:
        reply += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data
    return reply


def serve(listener: socket.socket, delay_s: float) -> None:
    while True:
        query, client = listener.recvfrom(2048)
        time.sleep(delay_s)
        listener.sendto(answer(query), client)


def main() -> int:
    delay_s, command = float(sys.argv[1]) / 1000, sys.argv[3:]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as settings:
        settings.write("nameserver 127.0.0.1\noptions timeout:5 attempts:1\n")
        settings.flush()
        subprocess.run(["mount", "--bind", settings.name, "/etc/resolv.conf"], check=True)
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.bind(("127.0.0.1", 53))
        server = os.fork()
        if server == 0:
            serve(listener, delay_s)
        listener.close()
        try:
            return subprocess.run(command, check=False).returncode
        finally:
            os.kill(server, 9)
            os.waitpid(server, 0)


if __name__ == "__main__":
    sys.exit(main())
