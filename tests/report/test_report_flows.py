# SPDX-License-Identifier: BSD-2-Clause
"""Reports of systems with flows: what the pages say about items."""

from __future__ import annotations

from pathlib import Path

from hyperperiod.analysis import analyze
from hyperperiod.model import System, load_system, parse_policy, with_policy
from hyperperiod.report import compare_report, write_report
from hyperperiod.runs import simulate

FILE = Path(__file__).parents[2] / "systems" / "packet-path.toml"
HORIZON_NS = 200_000_000


def page_of(system: System, folder: Path) -> str:
    page = folder / "page.html"
    write_report(page, system, analyze(system), simulate(system, HORIZON_NS), None)
    return page.read_text(encoding="utf-8")


def test_flows_stand_in_the_report(tmp_path: Path) -> None:
    text = page_of(load_system(FILE), tmp_path)
    assert "<h2>Flows</h2>" in text
    assert "driver.receive › control.law › driver.send" in text
    assert "7.03" in text
    assert "not one was late" in text


def test_lost_items_are_bad_news(tmp_path: Path) -> None:
    system = load_system(FILE)
    small = [flow.replace(queue=1, deadline_ns=1_000_000) for flow in system.flows]
    text = page_of(system.replace(flows=tuple(small)), tmp_path)
    assert "items late" in text
    assert "items dropped" in text
    assert "items may be dropped" in text or "above the deadline" in text


def test_flows_are_compared(tmp_path: Path) -> None:
    system = load_system(FILE)
    systems = [with_policy(system, parse_policy(policy)) for policy in ("crps", "ptps")]
    page = tmp_path / "compare.html"
    compare_report(page, [simulate(one, HORIZON_NS) for one in systems])
    assert "flow · command" in page.read_text(encoding="utf-8")
