"""The load: a job queue beside ordinary traffic. The number of unfinished jobs is the only difference between sides."""

import socket
import sys
from typing import BinaryIO

BATCH = 50


def encoded(*words: str) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    parts += [f"${len(word)}\r\n{word}\r\n".encode() for word in words]
    return b"".join(parts)


def answers(reader: BinaryIO, count: int) -> None:
    for _ in range(count):
        head = reader.readline()
        if head.startswith(b"-") or not head:
            sys.exit(f"drive: the server answered {head!r}")
        if head.startswith(b"$") and head != b"$-1\r\n":
            reader.read(int(head[1:]) + 2)


def job(number: int) -> list[bytes]:
    name = f"job:{number:08}"
    ordinary = []
    for part in range(6):
        key = f"user:{number * 7 % 5000 + part}"
        ordinary += [
            encoded("SET", key, f"value-{number}-{part}" * 4),
            encoded("GET", key),
            encoded("INCR", f"visits:{number % 100}"),
            encoded("HSET", f"profile:{number % 3000}", f"field{part}", str(number)),
        ]
    return [*ordinary, encoded("RPUSH", "unfinished", name), encoded("LREM", "unfinished", "1", name)]


def main() -> None:
    port, unfinished = int(sys.argv[1]), int(sys.argv[2])
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 12_000
    with socket.create_connection(("127.0.0.1", port)) as connection:
        reader = connection.makefile("rb")
        connection.sendall(b"".join(encoded("RPUSH", "unfinished", f"old:{n:08}") for n in range(unfinished)))
        answers(reader, unfinished)
        for first in range(0, jobs, BATCH):
            commands = [command for number in range(first, first + BATCH) for command in job(number)]
            connection.sendall(b"".join(commands))
            answers(reader, len(commands))
    print(f"work={jobs}")


main()
