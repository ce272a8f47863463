"""The load: a job queue beside ordinary traffic. The number of unfinished jobs is the only difference between sides."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from redis_client import Redis, request

BATCH = 50


def job(number: int) -> list[bytes]:
    name = f"job:{number:08}"
    ordinary = []
    for part in range(6):
        key = f"user:{number * 7 % 5000 + part}"
        ordinary += [
            request("SET", key, f"value-{number}-{part}" * 4),
            request("GET", key),
            request("INCR", f"visits:{number % 100}"),
            request("HSET", f"profile:{number % 3000}", f"field{part}", str(number)),
        ]
    return [*ordinary, request("RPUSH", "unfinished", name), request("LREM", "unfinished", "1", name)]


def main() -> None:
    port, unfinished = int(sys.argv[1]), int(sys.argv[2])
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 12_000
    with Redis(port) as redis:
        redis.ask([request("RPUSH", "unfinished", f"old:{n:08}") for n in range(unfinished)])
        for first in range(0, jobs, BATCH):
            redis.ask([command for number in range(first, first + BATCH) for command in job(number)])
    print(f"work={jobs}")


main()
