"""Redis' protocol as the loads of its cases speak it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

import pytest
from bench.cases.redis_client import Redis, request
from hypothesis import given, settings
from hypothesis import strategies as st

_BULK = st.binary(max_size=20).map(lambda text: b"$%d\r\n%s\r\n" % (len(text), text))
_SIMPLE = st.sampled_from([b"+OK\r\n", b":12\r\n", b"$-1\r\n", b"*-1\r\n", b"*0\r\n"])
_ANSWERS = st.recursive(
    _BULK | _SIMPLE,
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: b"*%d\r\n%s" % (len(parts), b"".join(parts))),
    max_leaves=6,
)


def _asked(requests: Sequence[bytes], answers: bytes) -> bytes:
    """What a server receives that gives these answers once it has received everything."""
    expected, received = sum(map(len, requests)), bytearray()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while len(received) < expected and (piece := connection.recv(4096)):
                    received.extend(piece)
                connection.sendall(answers)

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            with Redis(server.getsockname()[1]) as redis:
                redis.ask(requests)
        finally:
            serving.join()
    return bytes(received)


@settings(max_examples=30, deadline=None)
@given(st.lists(_ANSWERS, min_size=1, max_size=4))
def test_answers_are_passed_over_whatever_they_hold(answers: list[bytes]) -> None:
    # GIVEN one answer too few or as many as requests
    requests = [request("GET", "key")] * len(answers)
    assert _asked(requests, b"".join(answers)) == b"".join(requests)
    with pytest.raises(SystemExit, match="answered b''"):
        _asked([*requests, request("PING")], b"".join(answers))


def test_a_refusal_ends_the_load() -> None:
    with pytest.raises(SystemExit, match="unknown command"):
        _asked([request("NO", "such")], b"-ERR unknown command\r\n")


def test_requests_count_their_words() -> None:
    assert request("SET", "key", "") == b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n"
