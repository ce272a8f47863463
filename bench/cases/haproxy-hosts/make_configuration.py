"""A list of known hosts, and two configurations that ask for them: as written, or in whatever case."""

import sys
from pathlib import Path

HOSTS = 20_000


def configuration(hosts: Path, option: str) -> str:
    return f"""global
    nbthread 1
defaults
    mode http
    timeout client 60s
    timeout connect 5s
    timeout server 60s
frontend web
    bind "127.0.0.1:${{HAPROXY_LOCALPEER}}"
    acl known hdr(host) {option}-f {hosts}
    http-request return status 404 unless known
    http-request return status 200 content-type text/plain string known
"""


def main() -> None:
    folder = Path(sys.argv[1])
    hosts = folder / "hosts.lst"
    hosts.write_text("".join(f"shop-{i * 7919 % HOSTS}.customers.example\n" for i in range(HOSTS)))
    (folder / "as_written.cfg").write_text(configuration(hosts, ""))
    (folder / "any_case.cfg").write_text(configuration(hosts, "-i "))


if __name__ == "__main__":
    main()
