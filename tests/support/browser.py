# SPDX-License-Identifier: BSD-2-Clause
"""A page in a real browser, as it is after its scripts have run."""

import html
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

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

# A frame's own violations of axe-core's rules, in the light colours and then in the dark ones.
JUDGE: Final = """
(async () => {
  const found = [];
  const dark = () => {
    document.body.dataset.mdColorScheme = "slate";
    const own = [...document.styleSheets].filter(({ href }) => !href);
    for (const { media } of own.flatMap(({ cssRules }) => [...cssRules])) {
      if (media) media.mediaText = media.mediaText.replace(/[(]prefers-color.*?[)]/, "(width > 0)");
    }
  };
  document.head.append(Object.assign(document.createElement("style"),
    { textContent: "* { transition: none !important }" }));
  for (const scheme of ["light", "dark"]) {
    if (scheme === "dark") dark();
    const { violations } = await axe.run(BELOW, { preload: false });
    for (const { id, nodes } of violations) {
      for (const { target } of nodes) found.push(`${scheme}: ${id}: ${target.join(" ")}`);
    }
  }
  parent.postMessage([NUMBER, found], "*");
})();
"""
FRAMES: Final = """
addEventListener("message", ({ data: [number, found] }) => {
  document.body.append(Object.assign(document.createElement("pre"),
    { textContent: JSON.stringify([number, found]) }));
});
"""


def violations(
    pages: Mapping[str, Path], tmp_path: Path, below: str = "html"
) -> dict[str, list[str]]:
    """Returns what axe-core finds wrong in each page, by its name, as "scheme: rule: element".

    One browser opens all of them, each in a frame, with what its name has from "?" on at the end
    of its address; `below` is the part of the pages that is looked at.
    """
    axe = importlib.util.find_spec("axe_playwright_python")
    assert axe is not None
    assert axe.origin is not None
    rules = Path(axe.origin).with_name("axe.min.js").read_text()
    copies, names = [], list(pages)
    try:
        for number, name in enumerate(names):
            judge = JUDGE.replace("NUMBER", str(number)).replace("BELOW", json.dumps(below))
            copies.append(pages[name].with_name(f"judged-{number}.html"))
            script = f"<script>{rules}</script><script>{judge}</script></body>"
            copies[-1].write_text(pages[name].read_text().replace("</body>", script))
        frames = "".join(
            f'<iframe src="{copy.as_uri()}?{name.partition("?")[2]}" width="1200" height="900">'
            "</iframe>"
            for name, copy in zip(names, copies, strict=True)
        )
        whole = tmp_path / "frames.html"
        whole.write_text(f"<body><script>{FRAMES}</script>{frames}</body>")
        shown = re.findall(r"<pre>(.*?)</pre>", opened(whole, tmp_path))
    finally:
        for copy in copies:
            copy.unlink()
    found = dict(json.loads(html.unescape(text)) for text in shown)
    return {name: found[number] for number, name in enumerate(names)}


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
    assert not messages, "\n".join(messages)
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
