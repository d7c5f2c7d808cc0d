# SPDX-License-Identifier: BSD-2-Clause
"""Measures and draws the accepted fraction of every family.

    python -m bench.acceptance                 all families, 400 systems per load
    python -m bench.acceptance NAME...         these
    python -m bench.acceptance --systems 50    fewer systems

Writes docs/pictures/acceptance-NAME.svg, the numbers to bench/acceptance.json, and the table in
docs/analysis/acceptance.md. Every system is
drawn from its own seed, so the same numbers come out everywhere. A test that accepts a system that
did not survive is a mistake: it is printed, nothing is written, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import random
import sys
from pathlib import Path
from typing import Any

import bench.acceptance
from bench.acceptance import Family
from rich.console import Console
from rich.progress import track

from hyperperiod.report.frame import ACCEPTED, Scale
from hyperperiod.report.lines import LineChart, LineSeries, line_svg

TOP = Path(__file__).parents[2]
NUMBERS = TOP / "bench" / "acceptance.json"
PICTURES = TOP / "docs" / "pictures"
PAGE = TOP / "docs" / "analysis" / "acceptance.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->"
SURVIVES = "no miss found"


class UnsoundError(Exception):
    """A test accepted what some run broke; the message says which."""


def names() -> list[str]:
    """The modules of this folder that are families."""
    modules = (module.name for module in pkgutil.iter_modules(bench.acceptance.__path__))
    return [name for name in modules if not name.startswith("_")]


def family(name: str) -> Family[Any]:
    found = importlib.import_module(f"bench.acceptance.{name}").FAMILY
    assert isinstance(found, Family)
    return found


def measure(one: Family[Any], systems: int) -> dict[str, list[float]]:
    """The accepted fraction of each test and of the runs, load by load."""
    fractions: dict[str, list[float]] = {name: [] for name in (*one.tests, SURVIVES)}
    for load in track(one.loads, description=f"{one.name:20}", console=Console(stderr=True)):
        counts = dict.fromkeys(fractions, 0)
        for number in range(systems):
            for name in _accepting(one, load, number):
                counts[name] += 1
        for name, count in counts.items():
            fractions[name].append(count / systems)
    return fractions


def _accepting(one: Family[Any], load: float, number: int) -> list[str]:
    """Who accepts one system; UnsoundError if a test does and a run misses."""
    system = one.draw(random.Random(f"{one.name}:{load}:{number}"), load)
    accepting = [name for name, test in one.tests.items() if test(system)]
    if one.survives(system):
        return [*accepting, SURVIVES]
    if accepting:
        raise UnsoundError(
            f"{one.name}: {', '.join(accepting)} accepted system {number} of load {load}: {system}"
        )
    return []


def picture(one: Family[Any], fractions: dict[str, list[float]]) -> str:
    """The curves as SVG, the upper bound last."""
    curves = [
        LineSeries(name, list(zip(one.loads, shares, strict=True)), dots=True)
        for name, shares in fractions.items()
    ]
    chart = LineChart(
        one.title,
        Scale(one.axis),
        ACCEPTED,
        curves,
        x_min=one.loads[0],
        x_max=one.loads[-1],
        y_max=1.0,
    )
    return line_svg(chart)


def table(known: dict[str, Any]) -> str:
    """What part of the survivors each test accepts, as rows of a page."""
    lines = ["| systems | test | accepted |", "| --- | --- | --- |"]
    for name, numbers in sorted(known.items()):
        accepted = numbers["accepted"]
        survived = sum(accepted[SURVIVES])
        title = f"[{numbers['title']}](../pictures/acceptance-{name}.svg)"
        for test, shares in accepted.items():
            if test != SURVIVES:
                lines.append(f"| {title} | {test} | {100 * sum(shares) / survived:.1f} % |")
                title = ""
    return "\n".join(lines) + "\n"


def page_with(text: str, known: dict[str, Any]) -> str:
    """The page with today's table in it."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table(known)}{END}{rest.partition(END)[2]}"


def main() -> int:
    """Measures the families that are named, or all."""
    parser = argparse.ArgumentParser(description="accepted fractions, test beside test")
    parser.add_argument("names", nargs="*", choices=[*names(), []], metavar="NAME")
    parser.add_argument("--systems", type=int, default=400, help="drawn for each load (400)")
    asked = parser.parse_args()
    known = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    for name in asked.names or names():
        one = family(name)
        try:
            fractions = measure(one, asked.systems)
        except UnsoundError as error:
            print(error, file=sys.stderr)
            return 1
        known[one.name] = {
            "title": one.title,
            "systems": asked.systems,
            "loads": one.loads,
            "accepted": fractions,
        }
        (PICTURES / f"acceptance-{one.name}.svg").write_text(picture(one, fractions))
        NUMBERS.write_text(json.dumps(known, indent=1) + "\n")
        PAGE.write_text(page_with(PAGE.read_text(), known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
