"""A shop's visits, and two reports of them that count in different words."""

import sqlite3
import sys
from pathlib import Path

VISITS, PAGES = 1_000_000, 997


def main() -> None:
    folder = Path(sys.argv[1])
    database = sqlite3.connect(folder / "shop.db")
    database.execute("CREATE TABLE visits(id INTEGER PRIMARY KEY, page INTEGER, took INTEGER)")
    rows = ((i * 7919 % PAGES, i * 104729 % 3001) for i in range(VISITS))
    database.executemany("INSERT INTO visits(page, took) VALUES (?, ?)", rows)
    database.commit()
    database.close()
    for name, count in (("star", "count(*)"), ("one", "count(1)")):
        slowest = "SELECT min(took), max(took) FROM visits WHERE page < 900;\n" * 2
        numbers = f"SELECT {count} FROM visits;\n" * 45
        (folder / f"{name}.sql").write_text(slowest + numbers)


if __name__ == "__main__":
    main()
