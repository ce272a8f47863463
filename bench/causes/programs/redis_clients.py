"""redis with a client that asks every few milliseconds; stalled: another one runs a slow command in between.

redis_clients.py normal|stalled KEYS|EVAL
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path


def ask(connection: socket.socket, *words: str) -> bytes:
    text = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    connection.sendall(text.encode())
    return connection.recv(1 << 20)


def connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    for _ in range(200):
        try:
            connection.connect(path)
            break
        except OSError:
            time.sleep(0.05)
    return connection


def fill(connection: socket.socket, thousands: int) -> None:
    """In pieces, so that none of them is a stall."""
    for thousand in range(thousands):
        keys = [f"{thousand}:{number}:" + "a" * 2000 for number in range(1000)]
        connection.sendall("".join(f"*3\r\n$3\r\nSET\r\n${len(key)}\r\n{key}\r\n$1\r\nv\r\n" for key in keys).encode())
        left = 5 * len(keys)  # +OK
        while left > 0:
            left -= len(connection.recv(left))


def victim(path: str) -> None:
    connection = connect(path)
    for number in range(150):
        ask(connection, "GET", f"key:{number}")
        time.sleep(0.005)


def intruder(path: str, stalled: str, command: str) -> None:
    connection = connect(path)
    time.sleep(0.4)
    if stalled != "stalled":
        ask(connection, "GET", "key:1")
    elif command == "KEYS":
        ask(connection, "KEYS", "*y*z")  # goes through 2,000 characters a key
    else:
        ask(connection, "EVAL", "local s = 0 for i = 1, 40000000 do s = s + i end return s", "0")


def main() -> None:
    stalled, command = sys.argv[1:3]
    if len(sys.argv) > 3:
        path = sys.argv[4]
        victim(path) if sys.argv[3] == "victim" else intruder(path, stalled, command)
        return
    folder = Path(f"/tmp/whyperf-redis-{os.getpid()}")
    folder.mkdir()
    path = str(folder / "socket")
    server = subprocess.Popen(
        [
            "redis-server",
            "--port",
            "0",
            "--unixsocket",
            path,
            "--save",
            "",
            "--dir",
            str(folder),
            "--loglevel",
            "warning",
        ]
    )
    connection = connect(path)
    fill(connection, 80)
    roles = [
        subprocess.Popen([sys.executable, __file__, stalled, command, role, path]) for role in ("victim", "intruder")
    ]
    for role in roles:
        role.wait()
    server.terminate()
    server.wait()


main()
