"""The same locations twice: as a generator that sorts writes them, and the newest first."""

import sys
from pathlib import Path

SITES, LOCATIONS = 32, 1500


def configuration(newest_first: bool) -> str:
    lines = ["daemon off;", "error_log stderr;", "events {}", "http {"]
    for site in range(SITES):
        lines.append(f"server {{ listen 127.0.0.1:18080; server_name shop{site}.example.org;")
        numbers = range(LOCATIONS)
        for number in reversed(numbers) if newest_first else numbers:
            place = f"/srv/shop{site}/articles/{number}/"
            lines.append(f"location /products/2026/article-{number:06d}/ {{ alias {place}; expires 1h; }}")
        lines.append("}")
    return "\n".join([*lines, "}"]) + "\n"


folder = Path(sys.argv[1])
(folder / "logs").mkdir()
(folder / "sorted.conf").write_text(configuration(newest_first=False))
(folder / "newest-first.conf").write_text(configuration(newest_first=True))
