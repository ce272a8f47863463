"""Makes two databases of the same orders, with an index on their customers and without."""

import sqlite3
import sys
from pathlib import Path

ROWS, CUSTOMERS = 1000, 200

for name, indexed in (("indexed", True), ("plain", False)):
    with sqlite3.connect(Path(sys.argv[1]) / f"{name}.db") as database:
        database.execute("CREATE TABLE orders(number INTEGER PRIMARY KEY, customer INTEGER, item TEXT, price INTEGER)")
        rows = ((n, n * 7919 % CUSTOMERS, f"item-{n % 97}", n * 31 % 1000) for n in range(1, ROWS + 1))
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
        if indexed:
            database.execute("CREATE INDEX orders_by_customer ON orders(customer)")
        database.execute("ANALYZE")
