# SPDX-License-Identifier: BSD-2-Clause
"""Good traces, each small enough to follow by hand, one for every family of policies.

Two servers, H (period 10, budget 4) before L (period 20, budget 10), times in nanoseconds.
"""

from tests.support.trace_writer import Script, make_header, task, vcpu

from hyperperiod.trace.format import EXTRA, NONE, SECOND_PAYER, SPARE

H, L = 0, 1
PAIR = [vcpu("high", 10, 4), vcpu("low", 20, 10)]


def ptps() -> Script:
    """H has work for 3, then idles its budget away; L is not done before H comes again."""
    tasks = [task("high", "t", 20, 3), task("low", "u", 40, 8)]
    script = Script(make_header("ptps", PAIR, tasks, horizon_ns=40, guarantees=True))
    script.release(0, 0, 0, 20).release(0, 1, 0, 40).arrive(0, H, L)
    script.run(0, H, task=0).complete(3, 0, 0, 3).depart(3, H).idle(3, H)
    script.run(4, L, task=1).idle(10, H).run(14, L, task=1)
    script.complete(16, 1, 0, 16, L).depart(16, L).idle(16, L).idle(18)
    script.release(20, 0, 1, 40).arrive(20, H).run(20, H, task=0, job=1)
    script.complete(23, 0, 1, 3).depart(23, H).idle(23, H).idle(24, L).idle(30, H).idle(34, L)
    return script.idle(38).end(40)


def wcps() -> Script:
    """H has no work: L runs on H's time and spends its own budget as well."""
    script = Script(make_header("wcps", PAIR, horizon_ns=20, guarantees=True))
    script.arrive(0, L).run(0, L, H, flags=SECOND_PAYER).run(4, L).idle(10, H).idle(14)
    return script.end(20)


def crps() -> Script:
    """H has no work: L runs on H's time for nothing, even when it is depleted itself."""
    header = make_header("crps", PAIR, horizon_ns=20, guarantees=True)
    script = Script(header).arrive(0, L).run(0, L, H).run(4, L)
    return script.run(10, L, H).run(14, L).idle(18).end(20)


def deferrable() -> Script:
    """H keeps its budget while L runs, takes over when it gets work, and waits when depleted."""
    script = Script(make_header("ds", PAIR, horizon_ns=20, guarantees=True))
    script.arrive(0, L).run(0, L).arrive(6, H).run(6, H).run(10, H)
    return script.run(14, L).idle(18).end(20)


def polling() -> Script:
    """H comes too late for its budget and waits for the next refill."""
    header = make_header("polling", PAIR, horizon_ns=20, guarantees=True)
    script = Script(header).arrive(0, L).run(0, L).arrive(6, H)
    return script.run(10, H).idle(14).end(20)


def sporadic() -> Script:
    """H works at 2 for 3, again at 8 for 1, and gets each part back one period later."""
    script = Script(make_header("sporadic", [vcpu("high", 10, 4)], horizon_ns=30))
    script.arrive(2, H).run(2, H).depart(5, H).idle(5).arrive(8, H).run(8, H).idle(9)
    return script.run(12, H).idle(15).run(18, H).idle(19).run(22, H).idle(25).run(28, H).end(29)


def cbs() -> Script:
    """An arrival with too much budget for the time left starts a new period; then depletion."""
    script = Script(make_header("cbs", [vcpu("high", 10, 4)], horizon_ns=30))
    script.arrive(0, H).run(0, H).depart(2, H).idle(2)
    return script.arrive(6, H).run(6, H).idle(10).run(16, H).idle(20).run(26, H).end(30)


def spare() -> Script:
    """Both are depleted: the spare runs the one with the later deadline."""
    vcpus = [vcpu("high", 10, 4), vcpu("low", 20, 4)]
    header = make_header("ertds", vcpus, horizon_ns=20, spare={"period_ns": 40, "budget_ns": 3})
    script = Script(header).arrive(0, H, L).run(0, H).run(4, L).run(8, L, SPARE)
    return script.run(10, H).run(14, L, SPARE).idle(15).end(20)


def extra() -> Script:
    """Depleted, H goes on one level down, behind L and back at its refill."""
    vcpus = [vcpu("high", 10, 4, extra=True), vcpu("low", 20, 10)]
    script = Script(make_header("rtds", vcpus, horizon_ns=20))
    script.arrive(0, H, L).run(0, H).run(4, L).run(10, L).run(14, H)
    return script.run(18, H, flags=EXTRA).end(20)


def best_effort() -> Script:
    """B takes what H leaves, while H pays, and what nobody pays for."""
    vcpus = [vcpu("high", 10, 4), vcpu("best")]
    script = Script(make_header("ptps", vcpus, horizon_ns=20, guarantees=True))
    script.arrive(0, H, 1).run(0, H).depart(3, H).run(3, 1, H).run(4, 1, NONE)
    return script.run(10, 1, H).run(14, 1, NONE).end(20)


def two_pcpus() -> Script:
    """Three servers on two pcpus; the earlier deadlines run."""
    vcpus = [
        vcpu(name, period_ns, 4, pcpu=None) for name, period_ns in (("a", 10), ("b", 12), ("c", 20))
    ]
    script = Script(make_header("rtds", vcpus, horizon_ns=10, pcpus=2))
    script.arrive(0, 0, 1, 2).run(0, 0, pcpu=0).run(0, 1, pcpu=1)
    return script.run(4, 2, pcpu=0).idle(4, pcpu=1).idle(8, pcpu=0).end(10)


GOOD = (
    ptps, wcps, crps, deferrable, polling, sporadic, cbs, spare, extra, best_effort, two_pcpus,
)  # fmt: skip
