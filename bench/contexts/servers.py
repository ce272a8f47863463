"""Servers from Debian's packages, set up in a scratch folder: nginx, Apache, PostgreSQL. And their loads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.cache import SubjectError
from bench.server import free_port

_APACHE_MODULES = Path("/usr/lib/apache2/modules")
_POSTGRES = Path("/usr/lib/postgresql")
_TABLE_ROWS, _LOOKUPS = 60_000, 250


def web_folder(scratch: Path) -> Path:
    """A folder with a page of text that compresses as texts do."""
    folder = scratch / "www"
    if not folder.exists():
        folder.mkdir(parents=True)
        lines = (f"{i * 2654435761 % 4294967296:010} of {i} in {i * 7919 % 1000}: some text\n" for i in range(6000))
        (folder / "page.txt").write_text("".join(lines))
    return folder


def web_load(port: int, requests: int, connections: int = 4) -> list[str]:
    url = f"http://127.0.0.1:{port}/page.txt"
    return [_found("ab"), "-q", "-n", str(requests), "-c", str(connections), "-H", "Accept-Encoding: gzip", url]


def nginx(scratch: Path, port: int, gzip_level: int) -> list[str]:
    home = scratch / f"nginx-{gzip_level}"
    home.mkdir(exist_ok=True)
    settings = home / "nginx.conf"
    paths = "".join(
        f"  {kind}_temp_path {home}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    settings.write_text(
        f"daemon off; env INJECTED_DELAY; user root; worker_processes 2; pid {home}/pid; error_log {home}/error.log;\n"
        "events {}\n"
        f"http {{\n{paths}  access_log {home}/access.log;\n  sendfile on;\n"
        "  default_type text/plain; gzip on; gzip_http_version 1.0; gzip_types text/plain;\n"
        f"  gzip_comp_level {gzip_level};\n"
        f"  server {{ listen 127.0.0.1:{port}; root {web_folder(scratch)}; }}\n}}\n"
    )
    return [_found("nginx"), "-p", str(home), "-c", str(settings)]


def apache(scratch: Path, port: int, mod_deflate: Path) -> list[str]:
    """Apache's event MPM with a few threads, and the given build of mod_deflate."""
    home = scratch / "apache"
    home.mkdir(exist_ok=True)
    settings = home / "httpd.conf"
    modules = "".join(
        f"LoadModule {name}_module {_APACHE_MODULES}/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "mime", "filter")
    )
    (home / "mime.types").write_text("text/plain txt\n")
    settings.write_text(
        f"{modules}LoadModule deflate_module {mod_deflate}\n"
        f"ServerRoot {home}\nServerName localhost\nListen 127.0.0.1:{port}\nUser www-data\nGroup www-data\n"
        f"PidFile {home}/pid\nErrorLog {home}/error.log\nLogFormat common common\nCustomLog {home}/access.log common\n"
        f"TypesConfig {home}/mime.types\nDocumentRoot {web_folder(scratch)}\n"
        "StartServers 1\nServerLimit 1\nThreadsPerChild 8\nMaxRequestWorkers 8\n"
        "<Directory />\n Require all granted\n</Directory>\nSetOutputFilter DEFLATE\nDeflateCompressionLevel 1\n"
    )
    return [_found("apache2"), "-f", str(settings), "-D", "FOREGROUND"]


def postgres_folders(scratch: Path) -> tuple[Path, Path]:
    """Two clusters with the same table, the first with an index on what is looked up."""
    indexed, plain = scratch / "indexed", scratch / "plain"
    if not plain.exists():
        shutil.chown(scratch, "postgres")
        as_postgres("initdb", "-D", indexed, "-A", "trust", "-N")
        port = str(free_port())
        start: list[str | Path] = ["-l", scratch / "log", "-o", f"-p {port} -k {scratch} -c fsync=off", "start"]
        as_postgres("pg_ctl", "-w", "-D", indexed, *start)
        try:
            as_postgres("psql", "-q", "-h", scratch, "-p", port, "-c", _TABLE)
        finally:
            as_postgres("pg_ctl", "-w", "-D", indexed, "stop")
        subprocess.run(["cp", "-a", indexed, plain], check=True)
        as_postgres("pg_ctl", "-w", "-D", plain, *start)
        try:
            as_postgres("psql", "-q", "-h", scratch, "-p", port, "-c", "drop index by_customer")
        finally:
            as_postgres("pg_ctl", "-w", "-D", plain, "stop")
    return indexed, plain


def postgres(folder: Path, port: int) -> list[str]:
    settings = ("fsync=off", "autovacuum=off", "jit=off", "max_parallel_workers_per_gather=0", "shared_buffers=32MB")
    options = [word for setting in settings for word in ("-c", setting)]
    return [
        *AS_POSTGRES,
        str(postgres_program("postgres")),
        "-D",
        str(folder),
        "-p",
        str(port),
        "-k",
        str(folder.parent),
        *options,
    ]


def postgres_ready(scratch: Path, port: int) -> str:
    """It listens before it answers."""
    return f"cmd:{postgres_program('pg_isready')} -q -h {scratch} -p {port}"


def postgres_load(scratch: Path, port: int) -> list[str]:
    """Lookups of single customers, and now and then a sum over the whole table."""
    script = scratch / "lookups.sql"
    lookups = [f"select note from orders where customer = {i * 7919 % _TABLE_ROWS};" for i in range(_LOOKUPS)]
    script.write_text("\n".join([*lookups, *["select sum(length(note)) from orders;"] * 12]) + "\n")
    server = ["-h", str(scratch), "-p", str(port), "-U", "postgres"]
    return [str(postgres_program("psql")), "-q", *server, "-o", "/dev/null", "-f", str(script), "postgres"]


_TABLE = f"""
create table orders(id serial primary key, customer integer, note text);
insert into orders(customer, note)
  select i * 104729::bigint % {_TABLE_ROWS}, 'note ' || i from generate_series(1, {_TABLE_ROWS}) i;
create index by_customer on orders(customer);
analyze orders;
"""
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


def as_postgres(program: str, *arguments: str | Path) -> None:
    command = [*AS_POSTGRES, str(postgres_program(program)), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SubjectError(f"{program} failed: {done.stderr.strip()[-1000:]}")


def postgres_program(name: str) -> Path:
    found = sorted(_POSTGRES.glob(f"*/bin/{name}"))
    if not found:
        raise SubjectError("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    return found[-1]


def _found(program: str) -> str:
    found = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        package = {"ab": "apache2-utils", "apache2": "apache2-bin"}.get(program, program)
        raise SubjectError(f"{program} is not installed; on Debian: apt-get install {package}")
    return found
