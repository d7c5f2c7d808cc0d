# SPDX-License-Identifier: BSD-2-Clause
"""The clients of a web site: they ask for the pages of their draws, and take no broken page."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from hyperperiod.hosts.linux.build import FLAGS
from hyperperiod.hosts.linux.services import OURS
from hyperperiod.hosts.services import PAGE

MS = 1_000_000
LASTS_NS = 1_000 * MS
WHOLE = b"x" * 70_000 + b"</html>\n"
Answer = Callable[[str], tuple[int, bytes]]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("clients") / "clients"
    flags = [flag for flag in FLAGS if flag != "-static"]
    subprocess.run(["gcc", *flags, "-o", program, OURS / "clients.c"], check=True)
    return program


@contextmanager
def site(answer: Answer) -> Iterator[tuple[int, list[str]]]:
    """A site on a port of its own, and what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            code, page = answer(self.path)
            self.send_response(code)
            self.end_headers()
            with suppress(OSError):  # who has seen enough is gone
                self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Nothing is said about requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1], asked
        finally:
            server.shutdown()
            thread.join()


def run(
    program: Path, folder: Path, port: int, count: int, pages: str, seed: int = 1
) -> subprocess.CompletedProcess[str]:
    epoch_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    (folder / "pages").write_text(pages)
    words = ["127.0.0.1", port, count, 2 * MS, epoch_ns, epoch_ns + LASTS_NS, seed]
    files = [folder / name for name in ("pages", "ready", "records")]
    return subprocess.run(
        [program, *map(str, words), *files], capture_output=True, text=True, check=False
    )


def test_pages_come_after_they_were_asked_for(clients: Path, tmp_path: Path) -> None:
    with site(lambda _path: (200, WHOLE)) as (port, asked):
        done = run(clients, tmp_path, port, 5, "70 20 /?category=%\n30 1 /start\n")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ready").exists()
    pages = np.fromfile(tmp_path / "records", PAGE)
    assert 5 < len(pages) <= len(asked)
    assert (pages["asked_ns"] < pages["there_ns"]).all()
    assert (pages["there_ns"] < LASTS_NS).all()
    assert (np.diff(pages["there_ns"].astype(np.int64)) >= 0).all()
    numbers = {int(path.removeprefix("/?category=")) for path in asked if path != "/start"}
    assert numbers <= set(range(1, 21))
    assert len(numbers) > 2
    assert "/start" in asked


def test_what_a_client_asks_for_does_not_hang_on_how_long_pages_take(
    clients: Path, tmp_path: Path
) -> None:
    pages = "50 1000 /?item=%\n50 1000 /?user=%\n"
    found = []
    for seed, wait_s in ((7, 0.0), (7, 0.01), (8, 0.0)):

        def answer(_path: str, wait_s: float = wait_s) -> tuple[int, bytes]:
            threading.Event().wait(wait_s)
            return 200, WHOLE

        with site(answer) as (port, asked):
            assert run(clients, tmp_path, port, 1, pages, seed).returncode == 0
        found.append(asked)
    quick, slow, other = found
    common = min(len(quick), len(slow), len(other))
    assert common >= 3
    assert quick[:common] == slow[:common]
    assert quick[:common] != other[:common]


@pytest.mark.parametrize(
    ("code", "page"), [(404, WHOLE), (500, WHOLE), (200, b"<html>"), (200, b"")]
)
def test_a_page_that_is_wrong_ends_all(
    clients: Path, tmp_path: Path, code: int, page: bytes
) -> None:
    with site(lambda _path: (code, page)) as (port, _):
        done = run(clients, tmp_path, port, 2, "100 1 /start\n")
    assert done.returncode == 1
    assert "clients: came with an error or not whole: GET /start" in done.stderr
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(
    ("pages", "text"),
    [
        ("99 1 /start\n", "not 100 of 100"),
        ("100 0 /start\n", "in the file of pages"),
        ("/start\n", "in the file of pages"),
        ("1 1 /start\n" * 17, "in the file of pages"),
    ],
)
def test_a_wrong_file_of_pages(clients: Path, tmp_path: Path, pages: str, text: str) -> None:
    done = run(clients, tmp_path, 1, 1, pages)
    assert done.returncode == 1
    assert text in done.stderr


def test_nobody_is_there(clients: Path, tmp_path: Path) -> None:
    with site(lambda _path: (200, WHOLE)) as (port, _):
        pass
    done = run(clients, tmp_path, port, 1, "100 1 /start\n")
    assert done.returncode == 1
    assert "cannot be asked for: GET /start" in done.stderr
