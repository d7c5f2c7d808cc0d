# SPDX-License-Identifier: BSD-2-Clause
"""Reports of systems with flows: what the pages say about items."""

from __future__ import annotations

import re
from pathlib import Path

from hyperperiod.analysis import analyze
from hyperperiod.model import System, load_system, parse_policy, with_policy
from hyperperiod.report import compare_report, write_report
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Kind, read

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


def test_the_number_of_dropped_items_leads_to_the_first(tmp_path: Path) -> None:
    system = load_system(FILE)
    small = tuple(flow.replace(queue=1, deadline_ns=1_000_000) for flow in system.flows)
    system, trace, page = system.replace(flows=small), tmp_path / "run.hpt", tmp_path / "page.html"
    result = simulate(system, HORIZON_NS, trace_path=trace)
    write_report(page, system, analyze(system), result, trace)
    _, records = read(trace)
    drops = records[records["kind"] == Kind.DROP]
    assert len(drops) == sum(flow.dropped for flow in result.flows) > 0
    views = re.findall(
        r'href="#zoom=(\d+)ns,(\d+)ns" title="show the first drop', page.read_text(encoding="utf-8")
    )
    assert len(views) == sum(flow.dropped > 0 for flow in result.flows)
    first_ns = int(drops["time_ns"][0])
    assert any(int(start) <= first_ns <= int(end) for start, end in views)
    assert all(int(end) > int(start) for start, end in views)


def test_flows_are_compared(tmp_path: Path) -> None:
    system = load_system(FILE)
    systems = [with_policy(system, parse_policy(policy)) for policy in ("crps", "ptps")]
    page = tmp_path / "compare.html"
    compare_report(page, [simulate(one, HORIZON_NS) for one in systems])
    assert "flow · command" in page.read_text(encoding="utf-8")
