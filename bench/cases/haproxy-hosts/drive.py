"""Asks for the front page of many shops over one connection, some requests at a time."""

import socket
import sys

PORT, REQUESTS = map(int, sys.argv[1:3])
AT_A_TIME, HOSTS = 20, 20_000


def request(number: int) -> bytes:
    host = f"shop-{number * 104729 % HOSTS}.customers.example"
    return f"GET /front HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\n\r\n".encode()


with socket.create_connection(("127.0.0.1", PORT)) as connection:
    answers = connection.makefile("rb")
    for first in range(0, REQUESTS, AT_A_TIME):
        connection.sendall(b"".join(request(number) for number in range(first, first + AT_A_TIME)))
        for _ in range(AT_A_TIME):
            if b" 200 " not in answers.readline():
                sys.exit("drive: HAProxy does not answer as it should")
            length = 0
            while (line := answers.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            answers.read(length)
