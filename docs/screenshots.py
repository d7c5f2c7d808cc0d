# SPDX-License-Identifier: BSD-2-Clause
"""Takes the pictures of pages in the documentation, with Chromium, from pages written anew.

    python docs/screenshots.py            takes every picture in docs/pictures
    python docs/screenshots.py NAME ...   takes these

A picture is the top of a page, from which parts that would make it long may be left out. Fonts
differ between machines, so that pictures are looked at and not compared by a test.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

TOP: Final = Path(__file__).parents[1]
SYSTEM: Final = "systems/flight-control.toml"
FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--force-device-scale-factor=1.5", "--virtual-time-budget=3000",
)  # fmt: skip


class Picture(NamedTuple):
    """One picture: the command that writes the page, the view, the size, the style added to it."""

    command: tuple[str, ...]
    view: str
    width: int
    height: int
    style: str = ""


BESIDE: Final = "section:not(.verdicts, #each-task){display:none}"
"""The style of a comparison that shows what each missed, and the responses of each task."""


def beside_stock(system: str, hosts: str, *options: str) -> Picture:
    """The picture of an example on ours and on schedulers that hosts have themselves; some miss."""
    ran = ("--horizon", "2s", "--hosts", hosts, "--fail-on", "max>1s", *options)
    return Picture(("compare", f"systems/{system}.toml", *ran), "", 1120, 780, BESIDE)


PICTURES: Final = {
    "report-timeline": Picture(
        ("simulate", SYSTEM), "#zoom=0,48ms", 1340, 1400, "details, #reading-charts{display:none}"
    ),
    "report-columns": Picture(
        ("simulate", SYSTEM, "--horizon", "60s"),
        "#zoom=4.4s,5.2s",
        1120,
        750,
        "h1, .lead, .verdicts, .facts, details{display:none}",
    ),
    "report-flows": Picture(
        ("simulate", "systems/packet-path.toml", "--horizon", "1s"),
        "#zoom=0ns,12437578ns",
        1120,
        750,
        "h1, .lead, .verdicts, .facts, details{display:none}",
    ),
    "report-stacked": Picture(
        ("compare", "systems/overload.toml", "--policies", "ptps,crps", "--fail-on", "max>2s"),
        "#zoom=0,120ms",
        1120,
        810,
        "h1, .lead, .verdicts, section:not(#timelines){display:none}",
    ),
    "report-compare": Picture(
        ("compare", SYSTEM, "--policies", "ptps,wcps,crps"), "", 1120, 1020, BESIDE
    ),
    "xen-stock": beside_stock("hungry-guests", "xen,xen-credit2,xen-rtds"),
    "linux-stock": beside_stock(
        "hungry-neighbours", "linux,linux-eevdf,linux-quota,linux-deadline", "--in", "vm"
    ),
}


def take(name: str) -> None:
    """Write the page and its picture."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    picture = PICTURES[name]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        program = [sys.executable, "-m", "hyperperiod", *picture.command, "--report", str(page)]
        subprocess.run(program, cwd=TOP, check=True, stdout=subprocess.DEVNULL)
        style = f"<style>{picture.style}</style></head>"
        page.write_text(page.read_text().replace("</head>", style, 1))
        subprocess.run(
            [
                browser,
                *FLAGS,
                f"--user-data-dir={folder}/profile",
                f"--window-size={picture.width},{picture.height}",
                f"--screenshot={TOP / 'docs' / 'pictures' / f'{name}.png'}",
                f"{page.as_uri()}{picture.view}",
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        take(wanted)
