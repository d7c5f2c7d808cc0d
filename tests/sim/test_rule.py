# SPDX-License-Identifier: BSD-2-Clause
"""Rules in Python: one of the core's, written again, decides alike; wrong answers are named."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import hyperperiod as hp
from hyperperiod.hosts.sim import run
from hyperperiod.model import Scheduler, TaskKind, Vcpu, parse_policy
from hyperperiod.trace.format import Kind, read
from hyperperiod.trace.interval_arrays import interval_array

MS = 1_000_000
HORIZON_NS = 120 * MS
WORLDS = 100


class DeferrableEdf(hp.Rule):
    """deferrable+edf+none as semantics.md says it: among equals the last on the pcpu goes on."""

    def start(self, vcpus: Sequence[Vcpu]) -> None:
        super().start(vcpus)
        self.left = [0] * len(vcpus)
        self.deadline = [0] * len(vcpus)
        self.last: dict[int, int] = {}
        self.chosen: list[tuple[int, int, int | None]] = []

    def replenish(self, now: int, vcpu: int) -> int:
        server = self.vcpus[vcpu].interface
        assert server is not None, "it has a server"
        self.left[vcpu] = server.budget_ns
        self.deadline[vcpu] = now + server.period_ns
        return self.deadline[vcpu]

    def charge(self, _now: int, vcpu: int, ran: int) -> None:
        self.left[vcpu] -= ran

    def pick(self, now: int, pcpu: int, ready: Sequence[int]) -> tuple[int | None, int]:
        able = [vcpu for vcpu in ready if self.left[vcpu] > 0]
        first = min(
            able,
            key=lambda vcpu: (self.deadline[vcpu], vcpu != self.last.get(pcpu), vcpu),
            default=None,
        )
        self.chosen.append((now, pcpu, first))
        if first is None:
            return None, 2**63
        self.last[pcpu] = first
        return first, now + self.left[first]


def world(seed: int) -> hp.System:
    """A drawn system under deferrable+edf+none: one or two pcpus, ties and overloads among them."""
    draw = random.Random(f"rule {seed}")
    pcpus = draw.randint(1, 2)
    domains = []
    for number in range(draw.randint(1, 5)):
        period_ns = draw.choice((4, 5, 8, 10, 20)) * MS
        tasks = [
            hp.Task(
                name=f"t{index}",
                kind=draw.choice((TaskKind.PERIODIC, TaskKind.SPORADIC)),
                period_ns=draw.choice((5, 8, 10, 16, 20, 40)) * MS,
                wcet_ns=draw.randrange(1, 4 * MS),
                offset_ns=draw.choice((0, draw.randrange(5 * MS))),
                etf=draw.choice((1.0, 0.5)),
            )
            if draw.random() < 0.9
            else hp.Task(name=f"t{index}", kind=TaskKind.BUSY)
            for index in range(draw.randint(1, 2))
        ]
        domains.append(
            hp.Domain(
                name=f"d{number}",
                scheduler=draw.choice((Scheduler.EDF, Scheduler.FIFO, Scheduler.RM)),
                pcpu=draw.randrange(pcpus),
                interface=hp.Interface(
                    period_ns=period_ns, budget_ns=draw.randint(1, period_ns // MS) * MS
                ),
                tasks=tuple(tasks),
            )
        )
    policy = parse_policy("deferrable+edf+none")
    return hp.System(name="world", policy=policy, pcpus=pcpus, domains=tuple(domains))


def merged(chosen: list[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """(since when, who), each once: what is chosen at the same instant later counts."""
    found: list[tuple[int, int | None]] = []
    for time, vcpu in chosen:
        if found and found[-1][0] == time:
            found.pop()
        if not found or found[-1][1] != vcpu:
            found.append((time, vcpu))
    return found


@pytest.mark.parametrize("seed", range(WORLDS))
def test_a_rule_of_the_core_written_again_decides_alike(seed: int, tmp_path: Path) -> None:
    system = world(seed)
    path = tmp_path / "t.hpt"
    expected = hp.simulate(system, f"{HORIZON_NS}ns", seed=seed, trace=path)
    rule = DeferrableEdf()
    found = hp.simulate(system, f"{HORIZON_NS}ns", seed=seed, rule=rule)
    assert found.policy == "DeferrableEdf in Python"
    assert found.tasks == expected.tasks
    records = read(path)[1]
    for pcpu in range(system.pcpus):
        rows = interval_array(records, pcpu)
        theirs = [
            (int(row["start_ns"]), int(row["vcpu"]) if row["kind"] == Kind.RUN else None)
            for row in rows
        ]
        ours = [(now, vcpu) for now, on, vcpu in rule.chosen if on == pcpu]
        assert merged(ours) == merged(theirs)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (7, "found 7; allowed: None, or one of those that have work: [0]"),
        ("d", "found 'd'; allowed: None, or one of those"),
        ((0, 0), "found 0; allowed: a later time, a whole number above 0"),
        ((0, 1.5), "found 1.5; allowed: a later time"),
        (True, "found True; allowed: None, or one"),
    ],
)
def test_a_wrong_answer_is_named_with_the_rule_and_the_time(answer: object, said: str) -> None:
    class Wrong(hp.Rule):
        def pick(self, _now: int, _pcpu: int, _ready: object) -> object:  # type: ignore[override]
            return answer

    task = hp.Task(name="t", kind=TaskKind.BUSY)
    interface = hp.Interface(period_ns=MS, budget_ns=MS)
    domain = hp.Domain(name="d", interface=interface, tasks=(task,))
    system = hp.System(name="s", policy="ds", domains=(domain,))
    with pytest.raises(hp.InputError, match=re.escape(f"Wrong.pick at 0ns: {said}")):
        hp.simulate(system, "10ms", rule=Wrong())


def test_an_exception_of_a_rule_is_its_own() -> None:
    class Broken(DeferrableEdf):
        def charge(self, _now: int, _vcpu: int, _ran: int) -> None:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        hp.simulate(world(1), "1s", rule=Broken())
    assert "in Broken.charge, " in raised.value.__notes__[0]

    class Stopped(DeferrableEdf):
        def charge(self, _now: int, _vcpu: int, _ran: int) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hp.simulate(world(1), "1s", rule=Stopped())


def test_what_no_rule_is_asked_about_is_refused(tmp_path: Path) -> None:
    system = world(1)
    swap = hp.Swap(at_ns=MS, policy=parse_policy("ds"))
    for wrong in (
        system.replace(swaps=(swap,)),
        system.replace(stolen=(hp.Stolen(period_ns=MS, duration_ns=1),)),
        hp.with_policy(system, "deferrable+edf+none+global"),
    ):
        with pytest.raises(hp.InputError, match="with a rule in Python"):
            run(wrong, MS, rule=DeferrableEdf())
    with pytest.raises(hp.InputError, match="they judge policies"):
        hp.simulate(system, "1ms", rule=DeferrableEdf(), trace=tmp_path / "t.hpt")
