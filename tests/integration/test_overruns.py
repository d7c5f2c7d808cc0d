# SPDX-License-Identifier: BSD-2-Clause
"""Who is hurt by an overrun: nobody in other domains, neighbours, items, and who has no promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.worlds import domain, system, task

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.result import OverrunEffect, OverrunsResult, RunResult
from hyperperiod.model import System
from hyperperiod.overruns import overruns_result
from hyperperiod.report import write_report
from hyperperiod.runs import simulate

US = 1000


def overrun(name: str, factor: float, **more: Any) -> dict[str, Any]:
    return {"task": name, "factor": factor, **more}


def judged(of: System, horizon_ns: int = 400 * US) -> tuple[OverrunsResult, RunResult]:
    result = simulate(of, horizon_ns)
    assert result.overruns is not None
    return result.overruns, result


def entry(found: OverrunsResult, name: str) -> OverrunEffect:
    return next(one for one in found.entries if one.name == name)


def pair(policy: str, **more: Any) -> System:
    """Two domains with half a pcpu each; in the first a slow task behind one that may overrun."""
    fast, slow = task("fast", 20 * US, 4 * US), task("slow", 80 * US, 8 * US)
    other = task("x", 20 * US, 4 * US)
    first = domain("a", (5 * US, 10 * US), fast, slow)
    return system(policy, first, domain("b", (5 * US, 10 * US), other), **more)


def test_another_domain_is_not_hurt_and_a_neighbour_is() -> None:
    found, result = judged(pair("ptps", overrun=[overrun("a.fast", 10)]))
    assert not entry(found, "b.x").hurt
    assert entry(found, "b.x").max_ns == entry(found, "b.x").max_without_ns
    slow = entry(found, "a.slow")
    assert (slow.hurt, slow.misses_without, slow.why) == (True, 0, "in one domain with a.fast")
    assert slow.misses == next(one.misses for name, one in result.entries if name == "a.slow") > 0
    assert entry(found, "a.fast").overruns
    late = f"{slow.misses} more late"
    assert found.summary == f"hurt: a.slow ({late}; in one domain with a.fast)"


def test_donated_time_is_gone_but_the_bound_holds() -> None:
    """Under reclaim b.x lives on what a leaves; with none of it its own budget is still enough."""
    of = pair("crps", overrun=[overrun("a.fast", 10)])
    lone = of.domains[0].replace(tasks=of.domains[0].tasks[:1])
    found, _ = judged(
        of.replace(domains=(lone, of.domains[1].replace(tasks=(task("x", 40 * US, 8 * US),))))
    )
    one = entry(found, "b.x")
    assert one.max_ns is not None
    assert one.max_without_ns is not None
    assert one.bound_ns is not None
    assert one.max_without_ns < one.max_ns <= one.bound_ns
    assert found.summary == "nobody else was hurt; later, but in time as before: b.x"


def test_who_has_no_promise_is_hurt_and_why_is_said() -> None:
    """Best effort loses what the overrun takes; the items of a flow pass the longer jobs."""
    hog = task("late", 100 * US, 30 * US)
    hop, back = (
        task("hop", 40 * US, 4 * US, kind="event"),
        task("back", 40 * US, 2 * US, kind="event"),
    )
    flow = {
        "name": "f",
        "source": {"period": 40 * US},
        "hops": ["a.hop", "b.back"],
        "deadline": 30 * US,
    }
    of = system(
        "ds",
        domain("a", (15 * US, 20 * US), hop),
        domain("b", (5 * US, 20 * US), back),
        domain("c", None, hog),
        flow=[flow],
        overrun=[overrun("a.hop", 7, **{"from": 80 * US})],
    )
    found, _ = judged(of)
    assert entry(found, "flow f").why == "its items pass a.hop"
    assert entry(found, "c.late").why == "best effort: it has the time that others leave"
    assert found.summary.startswith("hurt: c.late (")


def test_nobody_is_hurt_before_the_overrun_begins() -> None:
    found, _ = judged(pair("ptps", overrun=[overrun("a.fast", 10, **{"from": 400 * US})]))
    assert found.summary == "nobody else was hurt"
    assert simulate(pair("ptps"), 400 * US).overruns is None


def test_what_another_host_did_by_itself_is_not_blamed_on_the_overrun() -> None:
    """A run that was late where the simulator, with the same overruns, is not."""
    of = pair("ptps", overrun=[overrun("a.fast", 1.001)])
    without, predicted = simulate(of.replace(overruns=()), 400 * US), simulate(of, 400 * US)
    slow_host = simulate(of.replace(overruns=of.overruns[:0]), 400 * US)
    tasks = (slow_host.domains[1].tasks[0].replace(misses=1),)
    domains = (slow_host.domains[0], slow_host.domains[1].replace(tasks=tasks))
    seen = slow_host.replace(host="xen", domains=domains)
    found = overruns_result(of, Analysis(of), seen, predicted, without)
    assert entry(found, "b.x").why == "not by the overruns: xen itself"


def test_the_report_says_it(tmp_path: Path) -> None:
    of, trace = pair("ptps", overrun=[overrun("a.fast", 10)]), tmp_path / "run.hpt"
    result = simulate(of, 400 * US, trace_path=trace)
    assert result.overruns is not None
    page = tmp_path / "report.html"
    write_report(page, of, Analysis(of).result(), result, trace)
    assert result.overruns.summary[1:] in page.read_text("utf-8")
