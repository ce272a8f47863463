"""The page served to this machine alone: on loopback, below a path that nobody can guess."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from whyperf.errors import WhyperfError

_LOOPBACK = "127.0.0.1"
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    # The page has a policy of its own; what only a header can say is added here.
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PageServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, page: str, port: int = 0) -> None:
        """`port` 0: any that is free."""
        try:
            super().__init__((_LOOPBACK, port), _Handler)
        except OSError as error:
            raise WhyperfError(f"Port {port} cannot be used: {error.strerror}.", "whyperf view --port 0 ...") from None
        self.page = page.encode()
        self.path = f"/{secrets.token_urlsafe(24)}/"
        # Another site's page can make a browser ask this address under a name of its own (DNS rebinding): only ours
        # are answered.
        self.hosts = frozenset(f"{name}:{self.server_port}" for name in (_LOOPBACK, "localhost"))

    @property
    def url(self) -> str:
        return f"http://{_LOOPBACK}:{self.server_port}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "whyperf"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_page=True)

    def do_HEAD(self) -> None:
        self._answer(with_page=False)

    def _answer(self, *, with_page: bool) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        if not secrets.compare_digest(self.path.encode(), self.server.path.encode()):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.page)))
        self.end_headers()
        if with_page:
            self.wfile.write(self.server.page)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the terminal is the report's."""
