"""nginx -> gunicorn -> PostgreSQL, and somebody who looks at pages; stalled: one page needs a costly query.

web.py prepare|normal|stalled FOLDER
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
AS_POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")


def until(works: Callable[[], bool]) -> None:
    while not works():
        time.sleep(0.05)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def ask_base(folder: str, words: str) -> bool:
    command = [*AS_POSTGRES, "psql", "-q", "-h", folder, "-c", words, "postgres"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def start_base(data: Path, folder: str) -> "subprocess.Popen[bytes]":
    shutil.chown(folder, "postgres")
    options = ["-D", str(data), "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    base = subprocess.Popen([*AS_POSTGRES, POSTGRES / "postgres", *options], stderr=subprocess.DEVNULL)
    until(lambda: ask_base(folder, "select 1"))
    return base


def stop(process: "subprocess.Popen[bytes]", how: int = signal.SIGTERM) -> None:
    process.send_signal(how)
    process.wait()


def prepare(data: Path) -> None:
    data.parent.mkdir(parents=True, exist_ok=True)
    shutil.chown(data.parent, "postgres")
    made = [*AS_POSTGRES, POSTGRES / "initdb", "-D", str(data), "-A", "trust", "-N"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        base = start_base(data, folder)
        ask_base(folder, "create table accounts as select id, 0 as balance from generate_series(1, 100) id")
        stop(base, signal.SIGINT)


def browse(port: int, *, stalled: bool) -> None:
    for turn in range(40):
        path = "/report" if stalled and turn == 25 else "/page"
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            while connection.recv(4096):
                pass
        time.sleep(0.005)


def serve(data: Path, mode: str) -> None:
    front, back = (20000 + (os.getpid() * 7 + number) % 20000 for number in (1, 2))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "nginx.conf").write_text(
            f"daemon off; worker_processes 1; pid {folder}/pid; error_log /dev/null;\nevents {{}}\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:{front};\n"
            f"location / {{ proxy_pass http://127.0.0.1:{back}; }} }} }}\n"
        )
        base = start_base(data, folder)
        gunicorn = ["gunicorn", "--workers", "2", "--log-level", "error", "--bind", f"127.0.0.1:{back}", "shop"]
        servers = [
            subprocess.Popen(gunicorn, cwd=HERE, env={**os.environ, "BASE": folder}),
            subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf", "-e", "/dev/null"]),
        ]
        until(lambda: answers(back) and answers(front))
        subprocess.run([sys.executable, __file__, mode, "browse", str(front)], check=True)
        for one in servers:
            stop(one)
        stop(base, signal.SIGINT)


if sys.argv[2] == "browse":
    browse(int(sys.argv[3]), stalled=sys.argv[1] == "stalled")
elif sys.argv[1] == "prepare":
    prepare(Path(sys.argv[2], "data"))
else:
    serve(Path(sys.argv[2], "data"), sys.argv[1])
