"""Fixed amounts of work, each the same to the instruction as far as the program allows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import subjects
from bench.cache import kept
from bench.contexts import servers
from bench.server import free_port

_SQL_ROWS = 300_000
_TRANSACTIONS = 1500  # of each client
# PostgreSQL refuses to be root; a recorder that root started writes what only root may open.
_SEES_FILES_OF_ROOT = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")


@dataclass(frozen=True)
class Workload:
    """`drive` is empty for programs that end by themselves."""

    name: str
    command: Callable[[str], list[str]]  # compiler flags -> command; -pg gives gprof's build
    drive: list[str]
    port: int = 0
    profilable: bool = True  # can be built with -pg


def all_workloads() -> list[Workload]:
    """Two servers under load, SQLite, a compile job (child processes), threads, C++: what overhead is measured on."""
    return [
        _redis(),
        _pgbench(),
        Workload("sqlite", lambda flags: _sqlite_command(flags, _SQL_ROWS), []),
        Workload("compile", lambda _: subjects.compile_job(), [], profilable=False),
        _own("threads", "pool", "3", "80000", "60", "64"),
        _own("cascade", "cascade", "1000", "12", "1"),
    ]


def quiet_programs() -> list[Workload]:
    """Shorter runs, about half a second of CPU each: for counting false alarms."""
    return [
        Workload("sqlite", lambda flags: _sqlite_command(flags, 120_000), []),
        _own("ledger-query", "ledger", "query", "50000", "150000"),
        _own("ledger-recover", "ledger", "recover", "80000", "8192", "1"),
        _own("pool", "pool", "3", "40000", "60", "64"),
        Workload("seq", lambda _: [str(subjects.coreutils() / "src/seq"), "--equal-width", "1", "1300000"], []),
        Workload("sort", lambda _: [str(subjects.coreutils() / "src/sort"), "--parallel=2", str(_lines())], []),
    ]


def _own(name: str, program: str, *arguments: str) -> Workload:
    return Workload(name, lambda flags: [str(subjects.own(program, flags)), *arguments], [])


def _sqlite_command(flags: str, rows: int) -> list[str]:
    return [str(subjects.sqlite(flags) / "sqlite3"), ":memory:", f".read {sql_script(rows)}"]


def _redis() -> Workload:
    port = free_port()
    benchmark = [str(subjects.redis() / "src/redis-benchmark"), "-p", str(port), "-n", "120000", "-c", "20", "-P", "4"]

    def command(flags: str) -> list[str]:
        return [
            str(subjects.redis(flags) / "src/redis-server"),
            "--port",
            str(port),
            "--save",
            "",
            "--appendonly",
            "no",
        ]

    return Workload("redis", command, [*benchmark, "-r", "100000", "-t", "set,get,lpush,hset,zadd", "-q"], port)


def _pgbench() -> Workload:
    """PostgreSQL: tables made anew, then transactions that read and write, by four clients."""
    port = free_port()
    client = f"-h 127.0.0.1 -p {port} -U postgres"
    drive = (
        f"until pg_isready -q {client}; do sleep 0.05; done; pgbench {client} -q -i -s 1 postgres && "
        f"pgbench {client} -n -N -c 4 -j 2 -t {_TRANSACTIONS} postgres"
    )

    def command(_flags: str) -> list[str]:
        server = servers.postgres(_cluster(), port)[len(servers.AS_POSTGRES) :]
        return [*servers.AS_POSTGRES, *_SEES_FILES_OF_ROOT, *server]

    return Workload("pgbench", command, ["/bin/sh", "-c", drive], port, profilable=False)


def _cluster() -> Path:
    """An empty PostgreSQL cluster. It is the server's user's, who need not see our cache."""
    folder = Path("/var/tmp") / "whyperf-bench-postgres"
    if not (folder / "data" / "PG_VERSION").exists():
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, "postgres")
        servers.as_postgres("initdb", "-D", folder / "data", "-A", "trust", "-N")
    return folder / "data"


def sql_script(rows: int) -> Path:
    """SQL that fills two tables, joins, sorts and aggregates them."""
    text = f"""
create table a(id integer primary key, name text, amount integer);
create table b(id integer primary key, owner integer, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
  insert into a select i, 'name-' || (i * 7919 % {rows}), i * 31 % 1000 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
  insert into b select i, i * 104729 % {rows} + 1, 'note ' || i from n;
create index by_owner on b(owner);
create index by_name on a(name);
select count(*), sum(a.amount) from a join b on b.owner = a.id where a.amount > 200;
select name, count(*) from a group by substr(name, 1, 7) order by 2 desc, 1 limit 5;
select sum(length(name) * amount) from (select * from a order by name desc);
select count(*) from b where note like '%99%';
"""

    def make(folder: Path) -> None:
        (folder / "work.sql").write_text(text)

    return kept("sql", [text], make) / "work.sql"


def _lines() -> Path:
    def make(folder: Path) -> None:
        numbers = ((i * 2654435761) % 4294967296 for i in range(260_000))
        (folder / "lines.txt").write_text("".join(f"{number:010} some text\n" for number in numbers))

    return kept("lines", ["260000"], make) / "lines.txt"
