"""An asyncio server with ten quick clients; stalled: one handler makes a synchronous call (a child process)."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path


async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        if line.startswith(b"report"):
            subprocess.run(["sleep", "1.5"], check=False)  # blocks the whole loop
        writer.write(b"ok\n")
        await writer.drain()
    writer.close()


async def serve(path: str) -> None:
    server = await asyncio.start_unix_server(handle, path)
    async with server:
        await asyncio.sleep(60)


def client(path: str, number: int, stalled: bool) -> None:
    import socket

    connection = socket.socket(socket.AF_UNIX)
    while True:
        try:
            connection.connect(path)
            break
        except OSError:
            time.sleep(0.05)
    for turn in range(60):
        connection.sendall(b"report\n" if stalled and number == 0 and turn == 30 else b"ping\n")
        connection.recv(100)
        time.sleep(0.005)


def main() -> None:
    stalled = sys.argv[1] == "stalled"
    if len(sys.argv) > 2:
        if sys.argv[2] == "serve":
            asyncio.run(serve(sys.argv[3]))
        client(sys.argv[3], int(sys.argv[2]), stalled)
        return
    path = f"/tmp/whyperf-asyncio-{os.getpid()}"
    server = subprocess.Popen([sys.executable, __file__, sys.argv[1], "serve", path])
    clients = [subprocess.Popen([sys.executable, __file__, sys.argv[1], str(number), path]) for number in range(4)]
    for one in clients:
        one.wait()
    server.kill()
    server.wait()
    Path(path).unlink()


main()
