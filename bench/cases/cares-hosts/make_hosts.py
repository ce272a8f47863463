"""A hosts file as people keep them who block advertisers: thousands of names."""

import sys
from pathlib import Path

hosts = (
    f"10.{number >> 16}.{number >> 8 & 255}.{number & 255} host{number}.example.org alias{number}\n"
    for number in range(4000)
)
(Path(sys.argv[1]) / "hosts").write_text("127.0.0.1 localhost\n" + "".join(hosts))
