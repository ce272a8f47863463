"""200,000 parts, whose codes begin with two letters or two digits, and 120 searches for the beginning of a code."""

import random
import sys
from pathlib import Path

TABLE = """CREATE TABLE part(code, shelf INTEGER);
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200000)
INSERT INTO part SELECT {code}, n % 97 FROM number;
CREATE INDEX by_code ON part(code);
"""
LETTERS = "char(97 + n * 7919 % 26, 97 + n * 104729 % 25) || '-' || n || 'x'"
DIGITS = "(10 + n * 7919 % 90) || '-' || n || 'x'"

random.seed(9)
for name, code, first in (
    ("letters", LETTERS, lambda: random.choice("abcdefgh") + random.choice("abcdefgh")),
    ("digits", DIGITS, lambda: str(random.randrange(10, 100))),
):
    searches = (f"SELECT count(*), sum(shelf) FROM part WHERE code GLOB '{first()}*';\n" for _ in range(120))
    (Path(sys.argv[1]) / f"{name}.sql").write_text(TABLE.format(code=code) + "".join(searches))
