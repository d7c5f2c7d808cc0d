# SPDX-License-Identifier: BSD-2-Clause
"""A web server for Prometheus: what the daemon knows of servers, looked up at each question.

It listens at the loopback address alone. Each answer asks the daemon anew, so that one that has
ended and come back is found again; meanwhile the answer is 503.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from hyperperiod.hosts.linux.client import Client
from hyperperiod.hosts.linux.rates import metrics
from hyperperiod.model import FailedError, InputError, MissingError

LOOPBACK = "127.0.0.1"
PATH = "/metrics"


def exporter(port: int, socket_path: Path) -> HTTPServer:
    """A server that listens; InputError for a port that is taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != PATH:
                self._answer(404, f"found {self.path}; allowed: {PATH}\n")
                return
            try:
                with Client(socket_path) as daemon:
                    text = metrics(daemon.status())
            except (MissingError, FailedError) as error:
                self._answer(503, f"{error}\n")
                return
            self._answer(200, text)

        def _answer(self, code: int, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Says nothing: a monitor asks every few seconds."""

    try:
        return HTTPServer((LOOPBACK, port), Handler)
    except OSError as error:
        found = f"{port} ({error.strerror})"
        raise InputError("", None, "--port", found, "a port that is free") from None
