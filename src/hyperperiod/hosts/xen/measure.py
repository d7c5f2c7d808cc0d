# SPDX-License-Identifier: BSD-2-Clause
"""What Xen takes for itself on this host: the [overheads] of a system file, measured.

Four small machines are booted, with guests that notice every nanosecond that they do not get: a
probe is a loop of a few hundred instructions that reads the counter again and again. Seven gaps
are read from what probes, tasks and the hypervisor recorded; of each the longest counts.

    still     a grant ends, the same vcpu goes on       interrupt + pick
    turn      a grant ends, another vcpu goes on        interrupt + pick + context_switch
    refill    the same, because a budget comes back     the same + replenish
    foreign   a vcpu wakes that has to wait             interrupt + wake
    start     a release wakes a vcpu that goes first: up to its completion, less the execution
                                                        interrupt + wake + pick + context_switch
    depart    up to the loop that such a job displaced  pick + context_switch
    move      the same, where it goes on elsewhere      the same + migration

These are solved for the costs; where they do not fit, the larger counts. What a guest itself needs
to go to sleep is in them as well, since nobody else would account for it. The last machine has two
pcpus; where they cannot be kept in step (images.py) what a migration costs is not known.

Under icount an instruction takes one nanosecond: these are numbers of instructions, the same in
every run, and not those of a board.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from hyperperiod.hosts.costs import HostCosts
from hyperperiod.hosts.guests import Workload, guest_words
from hyperperiod.hosts.xen.build.source import VERSION
from hyperperiod.hosts.xen.command_line import xen_arguments
from hyperperiod.hosts.xen.images import (
    QEMU,
    can_keep_in_step,
    current_executive,
    current_hypervisor,
)
from hyperperiod.hosts.xen.machine import MIB, Guest, XenMachine, rings_at_horizon
from hyperperiod.measured import XEN, Number, Section, command, version
from hyperperiod.model import (
    Domain,
    FailedError,
    Interface,
    Overheads,
    System,
    Task,
    TaskKind,
    parse_policy,
)
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.units import format_time
from hyperperiod.trace.format import Call, Kind, Records

HORIZON_NS: Final = 80_000_000
SETTLED_NS: Final = 12_000_000
"""What comes before is not counted: everybody's first time."""
LOOP_NS: Final = 400
GUEST_BYTES: Final = 24 * MIB
EPOCH_NS: Final = 400_000_000
RING_BYTES: Final = 1 * MIB
TITLE: Final = "Measured on Xen under QEMU, where an instruction takes a nanosecond."
ROUND_NS: Final = 10

PROBE: Final = Task(name="probe", kind=TaskKind.BUSY)
LOOPS: Final = Workload(
    (
        "workload=clocktick",
        f"loop={LOOP_NS}",
        "task-period=0",
        f"task-time={HORIZON_NS}",
    ),
    0,
    HORIZON_NS,
    HORIZON_NS // LOOP_NS,
)
"""What the probe's guest does in place of that task: it times short loops."""

_US: Final = 1_000
_MS: Final = 1_000_000


@dataclass(frozen=True)
class LongestGap:
    """The longest of its kind, and of how many."""

    longest_ns: int
    count: int

    def __str__(self) -> str:
        return f"at most {format_time(self.longest_ns)} in {self.count}"


class GapResult(ResultObject):
    """The longest gap of its kind, and how many there were."""

    longest_ns: int
    count: int


class XenCostsResult(ResultObject):
    """What Xen's scheduler costs, and the gaps that it was found in."""

    overheads: Mapping[str, int]
    gaps: Mapping[str, GapResult]


@dataclass(frozen=True)
class XenCosts:
    """What was found: the gaps, and the costs that explain them."""

    gaps: Mapping[str, LongestGap]
    overheads: Overheads

    @property
    def result(self) -> XenCostsResult:
        """The result object of `doctor --measure xen --json`."""
        return XenCostsResult(
            overheads={name: value for name, value in vars(self.overheads).items() if value},
            gaps={
                name: GapResult(longest_ns=gap.longest_ns, count=gap.count)
                for name, gap in self.gaps.items()
            },
        )

    def section(self, event_ns: int) -> Section:
        """What the file of measured numbers says of Xen; an event costs `event_ns` with these."""
        gaps = {f"gap {name}": Number(gap.longest_ns, "ns") for name, gap in self.gaps.items()}
        costs = {
            f"cost {name.removesuffix('_ns')}": Number(value, "ns")
            for name, value in vars(self.overheads).items()
            if value
        }
        event = {"cost of an event": Number(event_ns, "ns")}
        on = f"Xen {VERSION} in {version(QEMU)}, where an instruction takes a nanosecond"
        return Section(command(XEN), on, {**gaps, **costs, **event})

    def table(self) -> str:
        """What was measured as the table [overheads] of a system file."""
        lines = ["# " + TITLE, *(f"# {name}: {gap}" for name, gap in self.gaps.items())]
        return "\n".join(lines) + "\n" + HostCosts(overheads=self.overheads).table()


def measure(progress: Callable[[int], None] | None = None) -> XenCosts:
    """Boot, look, compute; `progress` is told how many machines are done, of MACHINES.

    Raises MissingError when a tool or an image is not there, FailedError when a machine does not
    do what it should.
    """
    gaps: dict[str, LongestGap] = {}
    for done, (system, look) in enumerate(_MACHINES):
        if system.pcpus > 1 and not can_keep_in_step():
            continue
        found = list(look(_observe(system)))
        for name in dict.fromkeys(name for name, _ in found):
            spans = [span_ns for its, span_ns in found if its == name]
            gaps[name] = LongestGap(max(spans), len(spans))
        if progress is not None:
            progress(done + 1)
    missing = [name for name in GAPS if name not in gaps]
    if missing and (missing != [MOVE] or can_keep_in_step()):
        raise FailedError(f"nothing was seen of: {', '.join(missing)}")
    return XenCosts(gaps, costs({name: gap.longest_ns for name, gap in gaps.items()}))


MOVE: Final = "move"
GAPS: Final = ("still", "turn", "refill", "depart", "start", "foreign", MOVE)


def costs(gaps: Mapping[str, int]) -> Overheads:
    """The costs that explain these gaps, rounded up; where two kinds do not fit, the larger."""
    interrupt = max(gaps["foreign"] - (gaps["start"] - gaps["turn"]), 0)
    switch = max(0, gaps["turn"] - gaps["still"])
    pick = max(gaps["still"] - interrupt, gaps["depart"] - switch, 0)
    wake = max(gaps["start"] - interrupt - pick - switch, gaps["foreign"] - interrupt, 0)
    return Overheads(
        context_switch_ns=_rounded(switch),
        pick_ns=_rounded(pick),
        replenish_ns=_rounded(max(0, gaps["refill"] - gaps["turn"])),
        wake_ns=_rounded(wake),
        interrupt_ns=_rounded(interrupt),
        migration_ns=_rounded(max(0, gaps.get(MOVE, 0) - pick - switch)),
    )


def _rounded(span_ns: int) -> int:
    return -(-span_ns // ROUND_NS) * ROUND_NS


# The machines.


def _system(name: str, *domains: Domain, **more: Any) -> System:
    fields = {"name": name, "policy": parse_policy("ds"), "domain": domains}
    return System.of(fields | more)


def _server(period_ns: int, budget_ns: int) -> Interface:
    return Interface(period_ns=period_ns, budget_ns=budget_ns)


def _still_system() -> System:
    """A probe alone, picked anew after every quantum."""
    probe = Domain(name="probe", tasks=(PROBE,), interface=_server(1000 * _MS, 1000 * _MS))
    return _system("still", probe, quantum_ns=1 * _MS)


def _turn_system() -> System:
    """A probe with 4 ms in 10, and another one in what is left."""
    return _system(
        "turn",
        Domain(name="probe", tasks=(PROBE,), interface=_server(10 * _MS, 4 * _MS)),
        Domain(name="rest", best_effort=True, tasks=(PROBE,)),
    )


def _wake_system() -> System:
    """A task above a probe, and one below it."""

    def tasks(period_ns: int, offset_ns: int) -> tuple[Task, ...]:
        return (Task(name="t", period_ns=period_ns, wcet_ns=JOB_NS, offset_ns=offset_ns),)

    return _system(
        "wake",
        Domain(name="above", tasks=tasks(5 * _MS, 1 * _MS), interface=_server(5 * _MS, 2 * _MS)),
        Domain(name="probe", tasks=(PROBE,), interface=_server(10 * _MS, 7 * _MS)),
        Domain(name="below", best_effort=True, tasks=tasks(7 * _MS, 3 * _MS)),
    )


def _move_system() -> System:
    """A probe and two tasks above it: it goes to the pcpu of the one that is done first."""

    def above(name: str, offset_ns: int) -> Domain:
        task = Task(name="t", period_ns=10 * _MS, wcet_ns=JOB_NS, offset_ns=offset_ns)
        return Domain(name=name, tasks=(task,), interface=_server(5 * _MS, 2 * _MS))

    return _system(
        "move",
        above("first", 2 * _MS),
        above("second", 2 * _MS + JOB_NS // 2),
        Domain(name="probe", tasks=(PROBE,), interface=_server(10 * _MS, 10 * _MS)),
        policy=parse_policy("deferrable+fp+none+global"),
        pcpus=2,
    )


JOB_NS: Final = 300 * _US


class Observed(NamedTuple):
    """What a machine recorded, all times in nanoseconds since the epoch."""

    system: System
    hypervisor: Records
    guests: list[Records]

    def picks(self) -> Iterator[tuple[int, int | None, int, int | None]]:
        """(time, vcpu, when the grant before was to end, its vcpu) of every pick."""
        before: tuple[int, int | None] | None = None
        kinds = self.hypervisor["kind"]
        chosen = self.hypervisor[(kinds == Kind.RUN) | (kinds == Kind.IDLE)]
        for row in chosen:
            vcpu = int(row["vcpu"]) if row["kind"] == Kind.RUN else None
            time_ns = int(row["time_ns"])
            if before is not None and time_ns >= SETTLED_NS:
                yield time_ns, vcpu, *before
            before = int(row["value"]), vcpu

    def arrivals(self, vcpu: int) -> list[int]:
        """The instants (ns) at which a vcpu got work."""
        chosen = (self.hypervisor["kind"] == Kind.ARRIVE) & (self.hypervisor["vcpu"] == vcpu)
        return [int(time) for time in self.hypervisor["time_ns"][chosen] if time >= SETTLED_NS]

    def jobs(self, domain: int) -> Iterator[tuple[int, int]]:
        """(release, completion) of the jobs of a domain with one task."""
        records = self.guests[domain]
        task = self.system.domains[domain].tasks[0]
        assert task.period_ns is not None, "jobs come from periodic tasks"
        for row in records[records["kind"] == Kind.COMPLETE]:
            release_ns = task.offset_ns + int(row["job"]) * task.period_ns
            if release_ns >= SETTLED_NS:
                yield release_ns, int(row["time_ns"])

    def probe(self, domain: int) -> ProbeLoops:
        """The loops that the probe in a domain recorded."""
        records = self.guests[domain]
        starts = records["time_ns"][records["kind"] == Call.SAMPLE]
        if len(starts) < 1000:
            raise FailedError(f"a probe made {len(starts)} loops only")
        return ProbeLoops([int(start) for start in starts])


class ProbeLoops:
    """When each loop of a probe began; one that takes longer than the shortest was interrupted."""

    def __init__(self, starts: list[int]) -> None:
        self._starts = starts
        self._loop_ns = min(b - a for a, b in pairwise(starts))

    def back_after(self, time_ns: int) -> int:
        """When the loop that was interrupted at or before `time_ns` was complete."""
        index = bisect_right(self._starts, time_ns)
        if index == len(self._starts):
            raise FailedError("a probe did not come back")
        return self._starts[index]

    def stolen_at(self, time_ns: int) -> int:
        """How much longer than a loop the one around `time_ns` took."""
        index = bisect_right(self._starts, time_ns)
        if index in (0, len(self._starts)):
            return 0
        return self._starts[index] - self._starts[index - 1] - self._loop_ns


def _look_still(seen: Observed) -> Iterator[tuple[str, int]]:
    probe = seen.probe(0)
    for time_ns, vcpu, _, before in seen.picks():
        if vcpu == before == 0:
            yield "still", probe.stolen_at(time_ns)


def _look_turn(seen: Observed) -> Iterator[tuple[str, int]]:
    probes = (seen.probe(0), seen.probe(1))
    period_ns = 10 * _MS
    for time_ns, vcpu, due_ns, before in seen.picks():
        if vcpu is None or before is None or vcpu == before or time_ns > HORIZON_NS - _MS:
            continue
        name = "refill" if due_ns % period_ns == 0 else "turn"
        yield name, probes[vcpu].back_after(time_ns) - due_ns


def _look_wake(seen: Observed) -> Iterator[tuple[str, int]]:
    above, between, below = range(3)
    probe = seen.probe(between)
    granted = [(time_ns, vcpu) for time_ns, vcpu, _, _ in seen.picks()]
    for release_ns, complete_ns in seen.jobs(above):
        yield "start", complete_ns - release_ns - JOB_NS
        stolen_ns = probe.stolen_at(release_ns)
        if stolen_ns > complete_ns - release_ns and _runs(granted, release_ns) == between:
            yield "depart", stolen_ns - (complete_ns - release_ns)
    for time_ns in seen.arrivals(below):
        if _runs(granted, time_ns) == between:
            stolen_ns = probe.stolen_at(time_ns)
            if stolen_ns < JOB_NS:
                yield "foreign", stolen_ns


def _look_move(seen: Observed) -> Iterator[tuple[str, int]]:
    first, _, moved = range(3)
    probe = seen.probe(moved)
    for _, complete_ns in seen.jobs(first):
        yield MOVE, probe.back_after(complete_ns) - complete_ns


def _runs(granted: list[tuple[int, int | None]], time_ns: int) -> int | None:
    """The vcpu that had the pcpu at `time_ns`; None while it was idle."""
    return next((vcpu for start, vcpu in reversed(granted) if start < time_ns), None)


_MACHINES: Final = (
    (_still_system(), _look_still),
    (_turn_system(), _look_turn),
    (_wake_system(), _look_wake),
    (_move_system(), _look_move),
)
MACHINES: Final = len(_MACHINES)


def _observe(system: System) -> Observed:
    guests = tuple(_guest(system, number) for number in range(len(system.domains)))
    arguments = xen_arguments(
        system, epoch_ns=EPOCH_NS, horizon_ns=HORIZON_NS, ring_bytes=RING_BYTES
    )
    machine = XenMachine(current_hypervisor(), arguments, guests, system.pcpus)
    (own,), rings = rings_at_horizon(machine)
    return Observed(system, own.records, [ring.since_epoch() for ring in rings])


def _guest(system: System, number: int) -> Guest:
    words = guest_words(
        system,
        number,
        epoch_ns=EPOCH_NS,
        horizon_ns=HORIZON_NS,
        seed=1,
        memory_bytes=GUEST_BYTES,
        workload=LOOPS if system.domains[number].tasks == (PROBE,) else None,
    )
    return Guest(current_executive(), " ".join(words), GUEST_BYTES)
