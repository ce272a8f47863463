"""Makes two databases of the same orders, with statistics of their indexes and without, and what a shop asks."""

import sqlite3
import sys
from pathlib import Path

ORDERS, CUSTOMERS, QUERIES = 10_000, 1_000, 3_500

folder = Path(sys.argv[1])
for name in ("analysed", "plain"):
    with sqlite3.connect(folder / f"{name}.db") as database:
        database.execute("CREATE TABLE orders(number INTEGER PRIMARY KEY, customer TEXT, state INTEGER, price INTEGER)")
        rows = ((n, f"customer {n * 7919 % CUSTOMERS}", n * 31 % 3, n * 31 % 1000) for n in range(1, ORDERS + 1))
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
        database.execute("CREATE INDEX orders_by_customer ON orders(customer)")
        database.execute("CREATE INDEX orders_by_state ON orders(state)")
        if name == "analysed":
            database.execute("ANALYZE")
lines = []
for n in range(QUERIES):
    customer, first = n * 37 % CUSTOMERS, n * 101 % ORDERS
    lines.append(f"SELECT count(*), sum(price) FROM orders WHERE state = 1 AND customer = 'customer {customer}';")
    lines.append(f"SELECT max(price), avg(price) FROM orders WHERE number BETWEEN {first} AND {first + 3000};")
(folder / "queries.sql").write_text("\n".join(lines) + "\n")
