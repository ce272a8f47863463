"""A cluster with a slot that has not been read: an open transaction adds a row now and then, others add many.

The first argument is the folder of the programs, the second where the cluster goes. Started by root, all is the user
postgres'.
"""

import os
import pwd
import subprocess
import sys
from pathlib import Path

BIN, FOLDER = Path(sys.argv[1]), Path(sys.argv[2])
DATA = FOLDER / "data"
ROUNDS, SHORT_TRANSACTIONS, ROWS = 16, 9, 1000
SETTINGS = (
    "wal_level=logical", "max_wal_size=4GB", "fsync=off", "autovacuum=off", "shared_buffers=1MB", "max_connections=10",
    "listen_addresses=''", f"unix_socket_directories='{FOLDER}'", "checkpoint_timeout=1h", "huge_pages=off",
)  # fmt: skip


def become_postgres() -> None:
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(FOLDER, user.pw_uid, user.pw_gid)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def run(*words: str | Path) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def session() -> subprocess.Popen[str]:
    words = [BIN / "psql", "-h", FOLDER, "-qAt", "-v", "ON_ERROR_STOP=1", "postgres"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(one: subprocess.Popen[str], statement: str) -> None:
    """Waits until it has been done."""
    assert one.stdin and one.stdout
    one.stdin.write(f"{statement};\n\\echo done\n")
    one.stdin.flush()
    while (line := one.stdout.readline()) != "done\n":
        if not line:
            sys.exit(f"psql ended at: {statement}")


become_postgres()
run(BIN / "initdb", "-D", DATA, "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
with (DATA / "postgresql.conf").open("a") as settings:
    settings.writelines(f"{setting}\n" for setting in SETTINGS)
run(BIN / "pg_ctl", "-D", DATA, "-w", "-l", FOLDER / "log", "start")
try:
    long, short = session(), session()
    say(short, "CREATE TABLE entries (number int, text text)")
    say(short, "ALTER TABLE entries ALTER text SET STORAGE PLAIN")
    say(short, "SELECT pg_create_logical_replication_slot('reader', 'test_decoding')")
    say(long, "BEGIN")
    for number in range(ROUNDS):
        say(long, f"INSERT INTO entries VALUES ({number}, 'of the long transaction')")
        for _ in range(SHORT_TRANSACTIONS):
            say(short, f"INSERT INTO entries SELECT n, repeat('x', 1000) FROM generate_series(1, {ROWS}) n")
    say(long, "COMMIT")
finally:
    run(BIN / "pg_ctl", "-D", DATA, "-w", "-m", "fast", "stop")
(FOLDER / "query.sql").write_text(
    "SELECT count(*) FROM pg_logical_slot_peek_changes('reader', NULL, NULL, 'skip-empty-xacts', '1')\n"
)
