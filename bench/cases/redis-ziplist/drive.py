"""The load: one hash of 560 fields is filled and read, amid ordinary traffic. The same on both sides."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from redis_client import Redis, request

FIELDS, READS, BATCH = 560, 200, 50


def main() -> None:
    commands = [request("HSET", "prices", f"item-{n:05}", str(n * 31 % 1000)) for n in range(FIELDS)]
    for number in range(READS):
        commands += [
            request("HGET", "prices", f"item-{number * 7919 % FIELDS:05}"),
            request("SET", f"order:{number % 200}", f"{number} pieces"),
            request("GET", f"order:{number * 3 % 200}"),
        ]
    with Redis(int(sys.argv[1])) as redis:
        for first in range(0, len(commands), BATCH):
            redis.ask(commands[first : first + BATCH])
    print(f"work={READS}")


main()
