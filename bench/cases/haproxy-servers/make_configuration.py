"""The same servers twice: with numbers that the administrator gives, and without."""

import sys
from pathlib import Path

SERVERS, BACKENDS = 3000, 24


def configuration(numbered: bool) -> str:
    lines = ["defaults", "    mode http", "    timeout connect 5s", "    timeout client 5s", "    timeout server 5s"]
    lines += ["frontend site", "    bind 127.0.0.1:18080", "    default_backend pool0"]
    for backend in range(BACKENDS):
        lines.append(f"backend pool{backend}")
        for number in range(SERVERS):
            identity = f" id {number + 1}" if numbered else ""
            address = f"10.{backend}.{number >> 8}.{number & 255}:8080"
            lines.append(f"    server application-node-{number} {address}{identity} weight 10 maxconn 100")
    return "\n".join(lines) + "\n"


folder = Path(sys.argv[1])
(folder / "numbered.cfg").write_text(configuration(True))
(folder / "named.cfg").write_text(configuration(False))
