"""The load: long keys are written and read, and now and then searched by a pattern. The same on both sides."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from redis_client import Redis, request

KEYS, BATCH = 400, 50
SEARCHED = 10  # every so many batches
PATTERN = "part*a*a*a*z"  # no key ends in z


def name(number: int) -> str:
    """Long, and with some of the letters that patterns ask for."""
    return "part:" + "".join("abcde"[number * (k + 3) // 7 % 5] for k in range(36)) + f":{number}"


def ordinary(number: int) -> list[bytes]:
    key = name(number * 7 % KEYS)
    return [
        request("SET", key, f"value-{number}" * 4),
        request("GET", name(number * 3 % KEYS)),
        request("INCR", f"visits:{number % 100}"),
        request("HSET", f"profile:{number % 300}", f"field{number % 7}", str(number)),
    ]


def batch(first: int) -> list[bytes]:
    commands = [command for number in range(first, first + BATCH) for command in ordinary(number)]
    # All keys, not those that a random hash puts first: runs of a side must do the same.
    rare = [request("SCAN", "0", "MATCH", PATTERN, "COUNT", "10000")] if first % (SEARCHED * BATCH) == 0 else []
    return [*commands, *rare, request("KEYS", "profile:1*")]


def main() -> None:
    port, rounds = int(sys.argv[1]), int(sys.argv[2])
    batches = [batch(number * BATCH) for number in range(60)]  # then from the beginning again
    with Redis(port) as redis:
        for number in range(rounds):
            redis.ask(batches[number % len(batches)])
    print(f"work={rounds}")


main()
