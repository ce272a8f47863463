"""A project with a line of development and one of maintenance, which take over from each other, and with tags.

Two series of tags: v1.0 to v1.19 are from the latest half of the history, the three of the new series from its end.
"""

import subprocess
import sys

COMMITS, TAGS = 400_000, 20
WHO = "Ada <ada@example.org>"


def main() -> None:
    folder, git = sys.argv[1:]
    subprocess.run([git, "init", "-q", "--bare", f"{folder}/project.git"], check=True)
    parts = []
    for number in range(COMMITS):
        line = number % 2
        parts.append(
            f"commit refs/heads/{('main', 'stable')[line]}\nmark :{number + 1}\n"
            f"committer {WHO} {1_200_000_000 + number * 60} +0000\ndata 8\nstep {number % 1000:03d}\n"
        )
        if number % 14 in (12, 13):
            parts.append(f"merge :{number - line if line else number - 10}\n")
    marks = {f"v1.{i}": COMMITS - 401 - (TAGS - 1 - i) * COMMITS // (2 * TAGS) // 2 * 2 for i in range(TAGS)}
    marks |= {f"v2.{i}": COMMITS - 301 + i * 100 for i in range(3)}
    for name, mark in marks.items():
        parts.append(f"tag {name}\nfrom :{mark}\ntagger {WHO} {1_200_000_000 + mark * 60} +0000\ndata 1\n.\n")
    subprocess.run(
        [git, f"--git-dir={folder}/project.git", "fast-import", "--quiet"], input="".join(parts).encode(), check=True
    )
    subprocess.run([git, f"--git-dir={folder}/project.git", "symbolic-ref", "HEAD", "refs/heads/main"], check=True)


if __name__ == "__main__":
    main()
