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
from hyperperiod.trace.items import FlowItem, items

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
    assert all(int(end) - int(start) > 1_000_000 for start, end in views), "too short to see why"


def test_responses_of_flows_lead_to_items_that_took_so_long(tmp_path: Path) -> None:
    system, trace, page = load_system(FILE), tmp_path / "run.hpt", tmp_path / "page.html"
    result = simulate(system, HORIZON_NS, trace_path=trace)
    write_report(page, system, analyze(system), result, trace)
    took: dict[tuple[str, int], FlowItem] = {}
    for one in items(*read(trace)):
        if one.finish_ns is not None:
            took.setdefault((one.flow, one.finish_ns - one.release_ns), one)
    text = page.read_text(encoding="utf-8").partition("<h2>Flows")[2]
    for flow in result.flows:
        assert flow.response_ns is not None
        for word, wanted_ns in (
            ("shortest", flow.response_ns.min),
            ("median", flow.response_ns.p50),
            ("p99", flow.response_ns.p99),
            ("longest", flow.response_ns.max),
        ):
            views = re.findall(rf'href="#zoom=(\d+)ns,(\d+)ns" title="show the {word} resp', text)
            assert len(views) == len(result.flows)
            gap_ns = min(abs(ns - wanted_ns) for name, ns in took if name == flow.name)
            assert gap_ns <= wanted_ns * result.response_error
            item = next(
                one
                for (name, ns), one in took.items()
                if name == flow.name and abs(ns - wanted_ns) == gap_ns
            )
            assert any(
                int(start) <= item.release_ns and (item.finish_ns or 0) <= int(end)
                for start, end in views
            )


def test_a_flow_and_a_task_of_a_domain_called_flow_are_told_apart(tmp_path: Path) -> None:
    text = FILE.read_text().replace('"control', '"flow').replace('"command"', '"law"')
    (tmp_path / "system.toml").write_text(text)
    system, trace = load_system(tmp_path / "system.toml"), tmp_path / "run.hpt"
    result, page = simulate(system, HORIZON_NS, trace_path=trace), tmp_path / "page.html"
    write_report(page, system, analyze(system), result, trace)
    text = page.read_text(encoding="utf-8")
    for reason in ("longest", "shortest", "median", "p99"):
        for name in ("flow.law", "flow law"):
            assert text.count(f'data-moment="{reason} response of {name}, at') == 1


def test_flows_are_compared(tmp_path: Path) -> None:
    system = load_system(FILE)
    systems = [with_policy(system, parse_policy(policy)) for policy in ("crps", "ptps")]
    page = tmp_path / "compare.html"
    compare_report(page, [simulate(one, HORIZON_NS) for one in systems])
    assert "flow · command" in page.read_text(encoding="utf-8")
