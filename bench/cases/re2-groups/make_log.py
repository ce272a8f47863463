"""A log of 1,000,000 visits."""

import random
import sys
from pathlib import Path

random.seed(9)
pages = ["/", "/orders", "/orders/new", "/help", "/search?q=lamp", "/basket"]
with (Path(sys.argv[1]) / "visits.log").open("w") as log:
    for number in range(1_000_000):
        address = ".".join(str(random.randrange(1, 255)) for _ in range(4))
        hour, minute, second = number // 3600 % 24, number // 60 % 60, number % 60
        page = random.choice(pages)
        status, size = random.choice((200, 200, 200, 304, 404)), random.randrange(100, 90_000)
        log.write(f"{address} 2026-11-{number % 28 + 1:02}T{hour:02}:{minute:02}:{second:02} {page} {status} {size}\n")
