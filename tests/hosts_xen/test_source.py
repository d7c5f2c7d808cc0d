# SPDX-License-Identifier: BSD-2-Clause
"""Xen's source is fetched from where it is to be had, and it is what was measured."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hyperperiod.hosts import debian
from hyperperiod.hosts.xen.build import source
from hyperperiod.model.errors import MissingError

CONTENT = b"Xen's source, to a test"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder that is served, and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def downloads(tmp_path: Path, served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of downloads, where Debian and its archives are folders that are served."""
    _, address = served
    monkeypatch.setenv("DEBIAN_MIRROR", f"{address}/mirror")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(source, "SECURITY", f"{address}/security")
    monkeypatch.setattr(source, "SNAPSHOT", f"{address}/snapshot")
    monkeypatch.setattr(source, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    folder = tmp_path / "downloads"
    folder.mkdir()
    return folder


def put(folder: Path, place: str, content: bytes = CONTENT) -> None:
    (folder / place).parent.mkdir(parents=True)
    (folder / place).write_bytes(content)


def left(downloads: Path) -> list[str]:
    """What is in the folder of downloads besides apt's own folder, and what apt's has of Xen."""
    files = [path for path in downloads.rglob("*xen*") if path.is_file()]
    return sorted(str(path.relative_to(downloads)) for path in files)


PLACES = {
    "mirror": f"mirror/pool/main/x/xen/{source.TARBALL}",
    "security": f"security/{source.TARBALL}",
    "snapshot": f"snapshot/{source.SHA1}",
}


@pytest.mark.parametrize("place", PLACES)
def test_it_is_fetched_from_the_only_place_that_has_it(
    place: str, served: tuple[Path, str], downloads: Path
) -> None:
    put(served[0], PLACES[place])
    assert source.fetch(downloads).read_bytes() == CONTENT
    assert left(downloads) == [source.TARBALL]


def test_another_file_of_its_name_is_passed_over(served: tuple[Path, str], downloads: Path) -> None:
    put(served[0], PLACES["mirror"], CONTENT + b", changed")
    put(served[0], PLACES["snapshot"])
    assert source.fetch(downloads).read_bytes() == CONTENT
    assert left(downloads) == [source.TARBALL]


def test_nobody_has_it(served: tuple[Path, str], downloads: Path) -> None:
    put(served[0], PLACES["mirror"], b"another")
    with pytest.raises(MissingError) as raised:
        source.fetch(downloads)
    assert source.TARBALL in str(raised.value)
    assert debian.mirror() in str(raised.value)
    assert "--xen-source" in str(raised.value)
    assert left(downloads) == []


def test_what_was_measured_comes_before_what_is_newer(downloads: Path) -> None:
    newer = downloads / f"xen_{source.VERSION}.9+1-g0.orig.tar.xz"
    newer.touch()
    assert source.fetched(downloads) == newer
    (downloads / source.TARBALL).touch()
    assert source.fetched(downloads) == downloads / source.TARBALL
