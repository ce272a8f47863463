"""Orders of four or of five branches of a shop, each of which has its price list as one JSON text."""

import json
import sqlite3
import sys
from pathlib import Path

ORDERS, ARTICLES = 300_000, 150


def price_list(branch: int) -> str:
    articles = {f"article-{i}": {"net": (i * 7919 + branch * 31) % 9973, "tax": 19} for i in range(ARTICLES)}
    return json.dumps(articles | {"branch": "x" * branch})


def main() -> None:
    for name, branches in (("four", 4), ("five", 5)):
        shop = sqlite3.connect(Path(sys.argv[1], f"{name}.db"))
        shop.execute("CREATE TABLE branches (id INTEGER PRIMARY KEY, prices TEXT)")
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, branch INTEGER, article INTEGER, count INTEGER)")
        shop.executemany("INSERT INTO branches VALUES (?, ?)", [(i, price_list(i)) for i in range(branches)])
        shop.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?)",
            [(i, i % branches, i * 7919 % ARTICLES, 1 + i % 5) for i in range(ORDERS)],
        )
        shop.commit()
        shop.close()


if __name__ == "__main__":
    main()
