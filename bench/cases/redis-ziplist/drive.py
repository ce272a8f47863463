"""The load: one hash of 560 fields is filled and read, amid ordinary traffic. The same on both sides."""

import socket
import sys
from typing import BinaryIO

FIELDS, READS, BATCH = 560, 200, 50


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


def main() -> None:
    commands = [encoded("HSET", "prices", f"item-{n:05}", str(n * 31 % 1000)) for n in range(FIELDS)]
    for number in range(READS):
        commands += [
            encoded("HGET", "prices", f"item-{number * 7919 % FIELDS:05}"),
            encoded("SET", f"order:{number % 200}", f"{number} pieces"),
            encoded("GET", f"order:{number * 3 % 200}"),
        ]
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        reader = connection.makefile("rb")
        for first in range(0, len(commands), BATCH):
            batch = commands[first : first + BATCH]
            connection.sendall(b"".join(batch))
            answers(reader, len(batch))
    print(f"work={READS}")


main()
