"""Looks up a name a few milliseconds apart, as a program would before it connects."""

import contextlib
import socket
import time

for number in range(30):
    name = "reports.example" if number == 20 else f"host{number}.example"
    with contextlib.suppress(OSError):
        socket.getaddrinfo(name, 80, socket.AF_INET)
    time.sleep(0.005)
