# SPDX-License-Identifier: BSD-2-Clause
"""A page in a real browser, as it is after its scripts have run."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--virtual-time-budget=3000", "--window-size=1200,900", "--dump-dom",
)  # fmt: skip
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="chromium is not installed: apt-get install chromium"
)


def opened(page: Path, tmp_path: Path, hash_: str = "", *, real_time: bool = False) -> str:
    """The page as it is after its scripts have run. Console messages fail the test.

    In real time it is as it is once loaded, and its clock goes on while scripts run.
    """
    assert BROWSER is not None
    flags = [flag for flag in FLAGS if not (real_time and flag.startswith("--virtual-time"))]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    run = subprocess.run(
        [BROWSER, *flags, profile, f"{page.as_uri()}{hash_}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    messages = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    assert messages == []
    return run.stdout


def acted(page: Path, script: str) -> Path:
    """The page with a script at its end that does what a user would do."""
    path = page.with_name("acted.html")
    path.write_text(page.read_text().replace("</body>", f"<script>{script}</script></body>"))
    return path


def drawn(dom: str, name: str) -> int:
    """A number that the timeline says about itself."""
    tag = re.search(r'<canvas id="timeline"[^>]*>', dom)
    assert tag is not None
    found = re.search(rf'data-{name}="(\d+)"', tag.group())
    assert found is not None, tag.group()
    return int(found.group(1))


class Page(HTMLParser):
    """The text of a page outside scripts and styles, and every address that it mentions."""

    VOID = frozenset({"meta", "br", "link", "input", "img"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text()
        self.open: list[str] = []
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.feed(self.source)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)
