"""The load: optimistic transactions on one key, while many idle clients watch.

Whether they watch that key (`shared`) or each a key of its own (`own`) is the only difference between sides.
"""

import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from redis_client import Redis, request

WATCHERS, BATCH = 4000, 40


def transaction(number: int) -> list[bytes]:
    """Reads the stock, changes an order; the stock itself is changed by nobody."""
    commands = [request("WATCH", "stock"), request("GET", "stock"), request("MULTI")]
    for part in range(3):
        commands += [
            request("SET", f"order:{(number * 7 + part) % 5000}", f"{number} pieces of {part}" * 3),
            request("HSET", f"profile:{number % 3000}", f"field{part}", str(number)),
        ]
    return [*commands, request("EXEC")]


def batch(first: int) -> list[bytes]:
    return [command for number in range(first, first + BATCH) for command in transaction(number)]


def main() -> None:
    port, key, transactions = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    batches = [batch(first) for first in range(0, 100 * BATCH, BATCH)]  # then from the beginning again
    idle = [Redis(port) for _ in range(WATCHERS)]
    for number, watcher in enumerate(idle):
        watcher.ask([request("WATCH", "stock" if key == "shared" else f"basket:{number}")])
    with Redis(port) as redis:
        for number in range(transactions // BATCH):
            redis.ask(batches[number % len(batches)])
    print(f"work={transactions}")


main()
