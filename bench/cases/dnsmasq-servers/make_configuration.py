"""The configuration of a name server that blocks many domains and asks a server of their own for some others."""

import random
import sys
from pathlib import Path

BLOCKED = 1_000_000
SERVED = 6_000


def main(folder: Path) -> None:
    chance = random.Random(1)
    every = BLOCKED // SERVED
    with (folder / "dnsmasq.conf").open("w") as file:
        file.write("no-resolv\ncache-size=10000\ndomain-needed\n")
        for number in range(BLOCKED):
            file.write(f"address=/host-{number}.tracker-{chance.randrange(5_000)}.example/0.0.0.0\n")
            if number % every == 0:
                file.write(f"server=/branch-{number // every}.corp.example/10.{chance.randrange(256)}.0.53\n")


main(Path(sys.argv[1]))
