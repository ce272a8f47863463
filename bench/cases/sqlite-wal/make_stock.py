"""Makes a database of which one fifth will change all the time, and the SQL that changes it and asks about the rest."""

import sqlite3
import sys
from pathlib import Path

ROWS, CHANGING, ROUNDS, ASKED = 200_000, 40_000, 250, 1500


def statements() -> list[str]:
    lines = []
    for step in range(ROUNDS):
        first = CHANGING + step * 100
        lines += [
            f"UPDATE stock SET pieces = pieces + 1 WHERE id <= {CHANGING} AND id % 23 = {step % 23};",
            f"WITH RECURSIVE asked(i, x) AS (SELECT 1, {step * 7919 + 1} UNION ALL",
            f"  SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM asked WHERE i < {ASKED})",
            f"  SELECT sum((SELECT pieces FROM stock WHERE id = {CHANGING} + x % {ROWS - CHANGING})) FROM asked;",
            f"SELECT sum(pieces), max(name) FROM stock WHERE id BETWEEN {first} AND {first + 500};",
        ]
    return lines


folder = Path(sys.argv[1])
(folder / "queries.sql").write_text("\n".join(statements()) + "\n")
with sqlite3.connect(folder / "stock.db") as database:
    database.execute("PRAGMA page_size = 512")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE stock(id INTEGER PRIMARY KEY, name TEXT, pieces INTEGER)")
    rows = ((n, f"item number {n * 7919 % 100003}", n % 100) for n in range(1, ROWS + 1))
    database.executemany("INSERT INTO stock VALUES (?, ?, ?)", rows)
