"""Stalls that were made after the rules were frozen.

frozen.py normal|stalled sqlite|queue|pipeline|batch|stopped|nginx
"""

import multiprocessing
import os
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STALLED = sys.argv[1] == "stalled"


def again(*words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, __file__, sys.argv[1], *words])


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(20_000))


def sqlite_writer(path: str, who: str) -> None:
    base = sqlite3.connect(path, timeout=30, isolation_level=None)
    for turn in range(25):
        base.execute("begin immediate")
        base.execute("insert into entries values (?)", (turn,))
        if STALLED and who == "importer" and turn == 12:
            time.sleep(1.5)  # within the transaction
        base.execute("commit")
        time.sleep(0.01)


def sqlite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/base"
        base = sqlite3.connect(path, isolation_level=None)
        base.execute("create table entries (number)")
        for one in [again("sqlite-writer", path, "importer"), again("sqlite-writer", path, "clerk")]:
            one.wait()


def produce(queue: "multiprocessing.Queue[int]") -> None:
    for turn in range(40):
        if STALLED and turn == 25:
            burn(1.2)
        queue.put(turn)
        time.sleep(0.005)


def queue() -> None:
    passed: multiprocessing.Queue[int] = multiprocessing.Queue()
    producer = multiprocessing.Process(target=produce, args=(passed,))
    producer.start()
    for _ in range(40):
        passed.get()
    producer.join()


def pipeline() -> None:
    slow = "sleep 1.5;" if STALLED else ""
    numbers = "for i in $(seq 40); do echo $i; sleep 0.01; done"
    middle = f"while read n; do [ $n = 25 ] && {{ {slow} :; }}; echo $n; done"
    text = f"{numbers} | {middle} | cat"
    subprocess.run(["bash", "-c", text], check=True, stdout=subprocess.DEVNULL)


def batch_daemon(path: str) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    waiting = selectors.DefaultSelector()
    waiting.register(server, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is server:
                waiting.register(server.accept()[0], selectors.EVENT_READ)
                continue
            asked = key.fileobj.recv(100)  # type: ignore[union-attr]
            if not asked:
                waiting.unregister(key.fileobj)
                continue
            burn(1.2 if asked == b"heavy" else 0.0005)
            key.fileobj.send(b"done")  # type: ignore[union-attr]


def batch_client(path: str, who: str, turns: str = "60") -> None:
    connection = socket.socket(socket.AF_UNIX)
    while True:
        try:
            connection.connect(path)
            break
        except OSError:
            time.sleep(0.05)
    for turn in range(int(turns)):
        connection.send(b"heavy" if STALLED and who == "greedy" and turn == 30 else b"light")
        connection.recv(100)
        time.sleep(0.005)


def batch() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        daemon = again("batch-daemon", path)
        for one in [again("batch-client", path, "modest"), again("batch-client", path, "greedy")]:
            one.wait()
        daemon.kill()
        daemon.wait()


def stopped() -> None:
    """A server that somebody stops with SIGSTOP for a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        daemon = again("batch-daemon", path)
        client = again("batch-client", path, "modest", "300")  # which is still at it when the server is stopped
        time.sleep(0.6)
        if STALLED:
            os.kill(daemon.pid, signal.SIGSTOP)
            time.sleep(1.5)
            os.kill(daemon.pid, signal.SIGCONT)
        client.wait()
        daemon.kill()
        daemon.wait()


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if "report" in self.path:
            time.sleep(1.5)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


def backend(port: str) -> None:
    ThreadingHTTPServer(("127.0.0.1", int(port)), Page).serve_forever()


def browser(port: str) -> None:
    for turn in range(40):
        path = "/report" if STALLED and turn == 25 else "/page"
        with socket.create_connection(("127.0.0.1", int(port))) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            while connection.recv(4096):
                pass
        time.sleep(0.005)


def nginx() -> None:
    with tempfile.TemporaryDirectory() as folder:
        front, back = (str(20000 + (os.getpid() * 7 + number) % 20000) for number in (1, 2))
        Path(folder, "nginx.conf").write_text(
            f"daemon off; worker_processes 1; pid {folder}/pid; error_log /dev/null;\nevents {{}}\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:{front};\n"
            f"location / {{ proxy_pass http://127.0.0.1:{back}; }} }} }}\n"
        )
        servers = [again("backend", back), subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf", "-e", "/dev/null"])]
        for port in (back, front):
            while True:
                try:
                    socket.create_connection(("127.0.0.1", int(port))).close()
                    break
                except OSError:
                    time.sleep(0.05)
        again("browser", front).wait()
        for one in servers:
            one.terminate()
            one.wait()


globals()[sys.argv[2].replace("-", "_")](*sys.argv[3:])
