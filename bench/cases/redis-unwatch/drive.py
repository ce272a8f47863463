"""The load: optimistic transactions on one key, while many idle clients watch.

Whether they watch that key (`shared`) or each a key of its own (`own`) is the only difference between sides.
"""

import resource
import socket
import sys
from typing import BinaryIO

WATCHERS, BATCH = 4000, 40


def encoded(*words: str) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    parts += [f"${len(word)}\r\n{word}\r\n".encode() for word in words]
    return b"".join(parts)


def answer(reader: BinaryIO) -> None:
    head = reader.readline()
    if head.startswith(b"-") or not head:
        sys.exit(f"drive: the server answered {head!r}")
    if head.startswith(b"$") and head != b"$-1\r\n":
        reader.read(int(head[1:]) + 2)
    if head.startswith(b"*") and head != b"*-1\r\n":
        for _ in range(int(head[1:])):
            answer(reader)


def transaction(number: int) -> list[bytes]:
    """Reads the stock, changes an order; the stock itself is changed by nobody."""
    commands = [encoded("WATCH", "stock"), encoded("GET", "stock"), encoded("MULTI")]
    for part in range(3):
        commands += [
            encoded("SET", f"order:{(number * 7 + part) % 5000}", f"{number} pieces of {part}" * 3),
            encoded("HSET", f"profile:{number % 3000}", f"field{part}", str(number)),
        ]
    return [*commands, encoded("EXEC")]


def batch(first: int) -> list[bytes]:
    return [command for number in range(first, first + BATCH) for command in transaction(number)]


def main() -> None:
    port, key, transactions = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    batches = [batch(first) for first in range(0, 100 * BATCH, BATCH)]  # then from the beginning again
    idle = []
    for number in range(WATCHERS):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(encoded("WATCH", "stock" if key == "shared" else f"basket:{number}"))
        connection.recv(16)
        idle.append(connection)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        reader = connection.makefile("rb")
        for number in range(transactions // BATCH):
            commands = batches[number % len(batches)]
            connection.sendall(b"".join(commands))
            for _ in commands:
                answer(reader)
    print(f"work={transactions}")


main()
