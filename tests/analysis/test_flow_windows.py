# SPDX-License-Identifier: BSD-2-Clause
"""The windows that explain bounds of tasks in domains with hops, against the plain definitions.

Each window says what the bound says, its shares are counted by the definitions of streams, and its
supply covers them where the job is done and not a nanosecond earlier.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.analysis.plain_flows import count, response_bound
from tests.support import flow_worlds, row_worlds
from tests.support.flow_attack import analysis_of
from tests.support.worlds import closed, domain, event, flow, system, task

from hyperperiod._analysis import Local
from hyperperiod.analysis import Analysis
from hyperperiod.analysis.flows.windows import (
    BACKLOG,
    BUSY_WINDOW,
    QUEUE,
    Inside,
    bound_of,
    hop_witness,
)
from hyperperiod.analysis.witness import Role, Witness
from hyperperiod.report.explain_page import explain_picture


def work_in(inside: Inside, index: int, window: int) -> int:
    """What a task asks for in a half-open window, release by release."""
    wcet = inside.vcpu.component.sources[index].load.wcet
    return sum(wcet * count(stream, window) for stream in inside.streams[index])


def expected_shares(inside: Inside, index: int, witness: Witness) -> dict[str, int]:
    """What the window of a witness is to hold, by name."""
    sources, local = inside.vcpu.component.sources, inside.vcpu.component.local
    (window,) = witness.windows
    above = index if local is Local.FIXED_PRIORITY else 0
    own = [index] if local is Local.FIXED_PRIORITY else list(range(len(sources)))
    shares = {sources[at].name: work_in(inside, at, window.window_ns) for at in range(above)}
    shares["blocking"] = max(sources[at].load.blocking for at in own)
    if witness.test == BACKLOG:
        shares[sources[index].name] = inside.backlogs_ns[index] or 0
    else:
        closed_at = witness.release_ns if witness.test == QUEUE else window.window_ns
        shares |= {sources[at].name: work_in(inside, at, closed_at + 1) for at in own}
    return {name: time_ns for name, time_ns in shares.items() if time_ns}


def look(inside: Inside, index: int, witness: Witness) -> None:
    source, supply = inside.vcpu.component.sources[index], inside.vcpu.supply
    window = witness.windows[0]
    if witness.test == "edf":
        assert bound_of(witness) == source.load.deadline
        assert window.short_ns <= 0
        return
    assert {share.who: share.time_ns for share in window.shares} == expected_shares(
        inside, index, witness
    )
    assert any(share.who == source.name and share.role is Role.OWN for share in window.shares)
    assert window.supply_ns == supply.sbf(window.window_ns)
    assert supply.time_for(window.demand_ns) == window.window_ns == witness.finish_ns
    if witness.test == QUEUE:
        local = inside.vcpu.component.local
        first = index if local is Local.FIXED_PRIORITY else 0
        last = index if local is Local.FIXED_PRIORITY else len(inside.streams) - 1
        own = [one for streams in inside.streams[first : last + 1] for one in streams]
        above = [one for streams in inside.streams[:first] for one in streams]
        blocking = max(one.load.blocking for one in inside.vcpu.component.sources[first : last + 1])
        assert bound_of(witness) == response_bound(own, above, supply, blocking)


@pytest.mark.parametrize("seed", range(40))
def test_each_window_is_that_of_the_bound(seed: int) -> None:
    rng = random.Random(f"windows of hops:{seed}")
    draw = rng.choice((flow_worlds, row_worlds)).draw_system
    found = analysis_of(draw(rng))
    bounds = {(hop.domain, hop.task): hop.bound_ns for flow in found.flows for hop in flow.hops}
    for inside in found.insides:
        for index, source in enumerate(inside.vcpu.component.sources):
            place = (inside.vcpu.domain, source.name)
            witness = hop_witness(inside, source.name)
            if place in bounds:
                assert bounds[place] == (None if witness is None else bound_of(witness))
            if witness is not None:
                look(inside, index, witness)


PASSED = ("d.a", "d.b", "d.a")


@pytest.mark.parametrize(
    ("scheduler", "account", "window_ns"),
    [("rm", QUEUE, 25), ("fifo", QUEUE, 25), ("executor", QUEUE, 25), ("edf", BUSY_WINDOW, 25)],
)
def test_a_hop_in_words(scheduler: str, account: str, window_ns: int, tmp_path: Path) -> None:
    """b waits for two jobs of a, one of p and itself, 7 in all: 12 dark, 4, a gap of 6, 3."""
    one = system(
        "ptps",
        domain(
            "d",
            (4, 10),
            event("a", 1, 40),
            task("p", 60, 3),
            event("b", 2, 80, deadline=70),
            scheduler=scheduler,
        ),
        flow=(flow("f", 100, *PASSED),),
    )
    found = Analysis(one).explanation("d.b")
    assert (found.schedulable, found.account) == (True, account)
    (window,) = found.windows
    shares = {share.who: (share.jobs, share.time_ns) for share in window.shares}
    assert (window.what, window.window_ns) == ("done", window_ns)
    assert shares == {"a": (2, 2), "p": (1, 3), "b": (1, 2)}
    assert [lost.time_ns for lost in window.lost] == [12, 6]
    assert f"After {window_ns}ns" in found.text
    assert found.curves is not None
    demand, supply = found.curves.demand, found.curves.supply
    assert demand[-1][1] >= 7
    assert supply[-1][0] >= window_ns
    explain_picture(tmp_path / "b.svg", found, "system.toml")
    assert f"after {window_ns}ns" in (tmp_path / "b.svg").read_text()


def test_clients_are_explained_by_how_many_they_are(tmp_path: Path) -> None:
    """Five clients that never think: four wait before the last one, 2 each."""
    one = system("ptps", domain("d", (10, 10), event("t", 2, 50)), flow=(closed("f", 5, 0, "d.t"),))
    found = Analysis(one).explanation("d.t")
    assert (found.account, found.windows[0].window_ns) == (BACKLOG, 10)
    assert "as many items as can be on their way" in found.critical_instant
    explain_picture(tmp_path / "t.svg", found, "system.toml")
    assert "pending items" in (tmp_path / "t.svg").read_text()


def test_a_deadline_that_is_the_bound_is_explained_by_demand() -> None:
    """The busy window of 25 is longer than the deadline of 22: the demand bound proves that."""
    one = system(
        "ptps",
        domain("d", (4, 10), event("a", 1, 40, deadline=22), task("p", 90, 6), scheduler="edf"),
        flow=(flow("f", 100, "d.a"),),
    )
    found = Analysis(one).explanation("d.a")
    assert (found.schedulable, found.account) == (True, "edf")
    assert found.windows[0].what == "tightest"
    assert "every job is done by its deadline" in found.text


def test_what_has_no_bound_has_no_window() -> None:
    one = system(
        "ptps",
        domain("d", (4, 10), task("p", 10, 4), event("a", 1, 40)),
        flow=(flow("f", 100, "d.a"),),
    )
    found = Analysis(one).explanation("d.a")
    assert found.schedulable is None
    assert (found.windows, found.curves) == ((), None)
    assert "items of flows" in found.story[0]
