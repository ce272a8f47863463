"""The load: long keys are written and read, and now and then searched by a pattern. The same on both sides."""

import socket
import sys
from typing import BinaryIO

KEYS, BATCH = 400, 50
SEARCHED = 10  # every so many batches
PATTERN = "part*a*a*a*z"  # no key ends in z


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
    if head.startswith(b"*"):
        for _ in range(int(head[1:])):
            answer(reader)


def name(number: int) -> str:
    """Long, and with some of the letters that patterns ask for."""
    return "part:" + "".join("abcde"[number * (k + 3) // 7 % 5] for k in range(36)) + f":{number}"


def ordinary(number: int) -> list[bytes]:
    key = name(number * 7 % KEYS)
    return [
        encoded("SET", key, f"value-{number}" * 4),
        encoded("GET", name(number * 3 % KEYS)),
        encoded("INCR", f"visits:{number % 100}"),
        encoded("HSET", f"profile:{number % 300}", f"field{number % 7}", str(number)),
    ]


def batch(first: int) -> list[bytes]:
    commands = [command for number in range(first, first + BATCH) for command in ordinary(number)]
    # All keys, not those that a random hash puts first: runs of a side must do the same.
    rare = [encoded("SCAN", "0", "MATCH", PATTERN, "COUNT", "10000")] if first % (SEARCHED * BATCH) == 0 else []
    return [*commands, *rare, encoded("KEYS", "profile:1*")]


def main() -> None:
    port, rounds = int(sys.argv[1]), int(sys.argv[2])
    batches = [batch(number * BATCH) for number in range(60)]  # then from the beginning again
    with socket.create_connection(("127.0.0.1", port)) as connection:
        reader = connection.makefile("rb")
        for number in range(rounds):
            commands = batches[number % len(batches)]
            connection.sendall(b"".join(commands))
            for _ in commands:
                answer(reader)
    print(f"work={rounds}")


main()
