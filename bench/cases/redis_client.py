"""What the loads of redis cases have in common: requests in its protocol, and answers that are read but not looked at.

Loads are started by path, so that their folder is where Python looks for modules: they add this one's to it.
"""

import socket
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO


def request(*words: str) -> bytes:
    parts = [b"$%d\r\n%s\r\n" % (len(word), word) for word in map(str.encode, words)]
    return b"*%d\r\n%s" % (len(words), b"".join(parts))


class Redis:
    """One client of the server at a port of this machine."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._reader = self._connection.makefile("rb")

    def __enter__(self) -> "Redis":
        return self

    def __exit__(self, _kind: type | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._connection.close()

    def ask(self, requests: Sequence[bytes]) -> None:
        """All at once; returns when all are answered."""
        self._connection.sendall(b"".join(requests))
        for _ in requests:
            _pass_over(self._reader)


def _pass_over(answer: BinaryIO) -> None:
    head = answer.readline()
    if head.startswith(b"-") or not head:
        sys.exit(f"drive: the server answered {head!r}")
    if head.startswith(b"$") and head != b"$-1\r\n":
        answer.read(int(head[1:]) + 2)
    if head.startswith(b"*") and head != b"*-1\r\n":
        for _ in range(int(head[1:])):
            _pass_over(answer)
