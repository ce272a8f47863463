"""Producers add messages to forty streams, and some counters are kept beside them."""

import socket
import sys

PORT, MESSAGES = map(int, sys.argv[1:3])
STREAMS, AT_ONCE = 40, 200


def command(*words: str) -> bytes:
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


with socket.create_connection(("127.0.0.1", PORT)) as server:
    answers = server.makefile("rb")
    for first in range(0, MESSAGES, AT_ONCE):
        batch = range(first, min(first + AT_ONCE, MESSAGES))
        sent = [
            command("XADD", f"stream:{n % STREAMS}", "*", "sender", f"sender-{n % 17}", "text", f"{n:08}" * 260)
            + command("INCR", f"count:{n % 100}")
            for n in batch
        ]
        server.sendall(b"".join(sent))
        for _ in batch:
            if not answers.readline().startswith(b"$"):
                sys.exit("drive: XADD is not answered as it should")
            answers.readline()
            if not answers.readline().startswith(b":"):
                sys.exit("drive: INCR is not answered as it should")
print(f"work={MESSAGES}")
