"""Names to look for, gathered from many lists that name the same ones again, and a log to look for them in."""

import random
import sys
from pathlib import Path

NAMES = 3_000
TIMES = 12
LINES = 300_000
HOSTS = ["web", "mail", "store", "proxy", "print"]


def main(folder: Path) -> None:
    chance = random.Random(1)
    names = [f"{chance.choice(HOSTS)}-{chance.randrange(100_000):05d}.rack[0-9]" for _ in range(NAMES)]
    wanted = names * TIMES
    chance.shuffle(wanted)
    (folder / "names").write_text("\n".join(wanted) + "\n")
    with (folder / "log").open("w") as file:
        for number in range(LINES):
            host = f"{chance.choice(HOSTS)}-{chance.randrange(100_000):05d}.rack{number % 10}"
            file.write(f"Nov 15 10:00:00 {host} session {number} opened\n")


main(Path(sys.argv[1]))
