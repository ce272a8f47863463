"""Four connections that ask one question after another, and print how long the answers took."""

import socket
import sys
import threading
import time

REQUESTS = 700


def ask(port: int, into: list[float]) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(REQUESTS):
            began = time.monotonic()
            connection.sendall(b"%d\n" % number)
            if not connection.recv(64).endswith(b"\n"):
                raise SystemExit(1)
            into.append(time.monotonic() - began)
            time.sleep(0.001)


def main() -> None:
    took: list[list[float]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=ask, args=(int(sys.argv[1]), one)) for one in took]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [one for some in took for one in some]
    if len(every) != 4 * REQUESTS:
        raise SystemExit(1)
    if "quiet" not in sys.argv:
        print("".join(f"latency={one:.7f}\n" for one in every), end="")


main()
