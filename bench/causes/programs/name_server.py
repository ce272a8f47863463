"""Answers every question for an address with 127.0.0.1; stalled: passes over one name."""

import socket
import struct
import sys

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.53", 53))
print("ready", flush=True)
while True:
    question, client = server.recvfrom(512)
    if sys.argv[1] == "stalled" and b"reports" in question:
        continue
    end = question.index(b"\0", 12) + 5
    wanted = struct.unpack(">H", question[end - 4 : end - 2])[0]
    answers = 1 if wanted == 1 else 0
    answer = question[:2] + struct.pack(">HHHHH", 0x8180, 1, answers, 0, 0) + question[12:end]
    if answers:
        answer += b"\xc0\x0c" + struct.pack(">HHIH4B", 1, 1, 1, 4, 127, 0, 0, 1)
    server.sendto(answer, client)
