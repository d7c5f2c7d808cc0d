# SPDX-License-Identifier: BSD-2-Clause
"""The latest answer that packets can get: a search over when they, and all other work, come.

A *play* says for each source - a flow, or a sporadic task of another domain - when it first
releases something and how far apart it goes on. Sporadic sources may have any distance from their
period on; a periodic one keeps its own. The simulator runs the play and says how late each answer
was.

Late answers need coincidences to the nanosecond: a packet that comes when the driver has just
blocked, work whose deadline is just before. So the search climbs by moving releases to *instants of
the schedule itself*: those at which the latest item came to a hop or left one, and those at which
anything happened around it, a nanosecond before or after, or earlier by the time that the moved
work takes (so that it ends there). One such move delays what follows and spoils what was lined up
behind it; so it may also carry along all releases after an instant. The first climb begins with
everything at once, the others where a draw puts them.

The search proves nothing: what it finds is possible, what it does not find may be.

Inputs: a system with flows, how many plays to try, a seed. Result: the play with the largest
response over its bound, as a system that can be run. Errors: InputError for a system without
flows, or whose flows have no bounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np

from hyperperiod.analysis import analyze, resolve
from hyperperiod.hosts.sim import largest_responses
from hyperperiod.model import InputError, Source, SourceKind, System, TaskKind, tasks_of
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read
from hyperperiod.trace.items import visits

PERIODS = 4
"""How many of the longest periods a play lasts; and how many periods apart releases are at most."""
STUCK = 600
"""A climb ends after so many moves that led to nothing."""
AROUND = 0.5
"""How often a release is moved to an instant of the latest item itself, not just near it."""


@dataclass(frozen=True)
class Beat:
    """When a source first releases something, and the distance from release to release."""

    offset_ns: int
    gap_ns: int


Play = tuple[Beat, ...]


@dataclass(frozen=True)
class LatestAnswer:
    """The latest answer found: which flow's, its bound, and the system that has it."""

    flow: str
    response_ns: int
    bound_ns: int
    system: System
    horizon_ns: int
    tried: int
    steps: tuple[tuple[int, float], ...]
    """How the search got there: after so many plays, so much of the bound."""
    interrupted: bool = False

    @property
    def ratio(self) -> float:
        """The longest response found as a share of its bound."""
        return self.response_ns / self.bound_ns


@dataclass(frozen=True)
class _Voice:
    """A source: its least distance, whether it may be longer, how much work a release brings."""

    period_ns: int
    free: bool
    work_ns: int


@dataclass(frozen=True)
class _Heard:
    """A play that was run: each flow's largest response over its bound, and the sum of these."""

    play: Play
    ratios: tuple[Fraction, ...]
    tried: int

    @property
    def score(self) -> tuple[Fraction, Fraction]:
        return max(self.ratios), sum(self.ratios, Fraction(0))


def latest_answer(
    system: System,
    plays: int = 20_000,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
) -> LatestAnswer:
    """The play among so many with the largest response over its bound.

    `progress` is called with the number of plays tried; Ctrl-C ends the search with what it has.
    """
    return _PhaseSearch(system, seed, progress).best_of(plays)


class _PhaseSearch:
    def __init__(
        self, system: System, seed: int, progress: Callable[[int], None] | None = None
    ) -> None:
        self.system = resolve(system)
        self.draw = Random(seed)
        self.progress = progress
        self.tried = 0
        self.best: list[_Heard] = []
        """Each later than all before it."""
        flows = analyze(self.system).flows
        self.bounds_ns = [flow.response_bound_ns for flow in flows if flow.response_bound_ns]
        if not flows or len(self.bounds_ns) < len(flows):
            found = "no flow, or one without a bound"
            raise InputError(system.name, None, "flow", found, "flows that have bounds")
        if any(flow.source.kind is SourceKind.CLOSED for flow in system.flows):
            raise InputError(system.name, None, "flow: source", "closed", "periodic or sporadic")
        hops = {hop for flow in system.flows for hop in flow.hops}
        self.others = [
            (number, place)
            for number, domain in enumerate(system.domains)
            for place, task in enumerate(domain.tasks)
            if f"{domain.name}.{task.name}" not in hops and task.kind in _MOVED
        ]
        self.voices = [*self._flow_voices(), *self._other_voices()]
        self.longest_ns = max(voice.period_ns for voice in self.voices)
        self.horizon_ns = 2 * PERIODS * self.longest_ns
        self.back_ns = max(d.interface.period_ns for d in system.domains if d.interface)

    def _flow_voices(self) -> list[_Voice]:
        wcets = {
            f"{placed.domain.name}.{placed.task.name}": placed.task.wcet_ns or 0
            for placed in tasks_of(self.system)
        }
        return [
            _Voice(
                flow.source.period_ns or 0,
                flow.source.kind is SourceKind.SPORADIC,
                wcets[flow.hops[0]],
            )
            for flow in self.system.flows
        ]

    def _other_voices(self) -> list[_Voice]:
        tasks = [self.system.domains[number].tasks[place] for number, place in self.others]
        return [
            _Voice(task.period_ns or 1, task.kind is TaskKind.SPORADIC, task.wcet_ns or 0)
            for task in tasks
        ]

    def best_of(self, plays: int) -> LatestAnswer:
        """Climbs from one start after the other, until so many plays were tried."""
        interrupted = False
        try:
            start = tuple(Beat(0, voice.period_ns) for voice in self.voices)
            while self.tried < plays:
                self._climb(start, plays)
                start = tuple(self._drawn(voice) for voice in self.voices)
        except KeyboardInterrupt:
            interrupted = True
        if not self.best:
            raise KeyboardInterrupt
        return self._found(interrupted=interrupted)

    def _found(self, *, interrupted: bool) -> LatestAnswer:
        best = self.best[-1]
        which = best.ratios.index(max(best.ratios))
        bound_ns = self.bounds_ns[which]
        steps = [(one.tried, float(max(one.ratios))) for one in self.best]
        return LatestAnswer(
            self.system.flows[which].name,
            int(best.ratios[which] * bound_ns),
            bound_ns,
            self.staged(best.play),
            self.horizon_ns,
            self.tried,
            (*steps, (self.tried, steps[-1][1])),
            interrupted,
        )

    def _drawn(self, voice: _Voice) -> Beat:
        return Beat(self.draw.randrange(2 * voice.period_ns), self._gap(voice))

    def _gap(self, voice: _Voice) -> int:
        max_ns = PERIODS * voice.period_ns if voice.free else voice.period_ns
        return self.draw.choice([voice.period_ns, self.draw.randint(voice.period_ns, max_ns)])

    def _climb(self, start: Play, plays: int) -> None:
        """Climbs from a play to better ones, also over equal ones, until nothing leads further."""
        here = self._hear(start)
        stuck = 0
        near, own = self._instants(here)
        while self.tried < plays and stuck < STUCK:
            heard = self._hear(self._moved(here.play, near, own))
            stuck += 1
            if heard.score > here.score:
                here, stuck = heard, 0
                near, own = self._instants(here)
            elif heard.score == here.score:
                here = heard

    def _hear(self, play: Play) -> _Heard:
        """Runs a play: the longest response to each source, as a share of its bound."""
        responses_ns = largest_responses(self.staged(play), self.horizon_ns)
        self.tried += 1
        if self.progress is not None:
            self.progress(self.tried)
        heard = _Heard(
            play,
            tuple(
                Fraction(response_ns, bound_ns)
                for response_ns, bound_ns in zip(responses_ns, self.bounds_ns, strict=True)
            ),
            self.tried,
        )
        if not self.best or heard.score > self.best[-1].score:
            self.best.append(heard)
        return heard

    def staged(self, play: Play) -> System:
        """The system in which everything comes as the play says."""
        flows = [
            flow.replace(source=Source(period_ns=beat.gap_ns, offset_ns=beat.offset_ns))
            for flow, beat in zip(self.system.flows, play, strict=False)
        ]
        domains = list(self.system.domains)
        for (number, place), beat in zip(self.others, play[len(flows) :], strict=True):
            tasks = list(domains[number].tasks)
            tasks[place] = tasks[place].replace(
                kind=TaskKind.PERIODIC,
                period_ns=beat.gap_ns,
                offset_ns=beat.offset_ns,
            )
            domains[number] = domains[number].replace(tasks=tuple(tasks))
        return self.system.replace(flows=tuple(flows), domains=tuple(domains))

    def _instants(self, heard: _Heard) -> tuple[list[int], list[int]]:
        """Instants around the latest item, and those at which it came to a hop or left one."""
        with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
            trace = Path(folder) / "play.hpt"
            simulate(self.staged(heard.play), self.horizon_ns, trace_path=trace)
            _, records = read(trace)
            times = np.unique(records["time_ns"])
            ways: dict[tuple[int, int], list[int]] = {}
            for record, item in visits(records):
                ways.setdefault((item.flow, item.number), []).append(record.time_ns)
            del records
        whole = {
            item: way
            for item, way in ways.items()
            if len(way) == 2 * len(self.system.flows[item[0]].hops)
        }
        if not whole:
            return times.tolist(), times.tolist()
        own = max(
            whole.items(), key=lambda one: (one[1][-1] - one[1][0]) / self.bounds_ns[one[0][0]]
        )[1]
        near = times[(times + self.back_ns >= own[0]) & (times <= own[-1])]
        return near.tolist(), own

    def _moved(self, play: Play, near: Sequence[int], own: Sequence[int]) -> Play:
        """A play in which one or two sources come at other instants."""
        beats = list(play)
        which = 0
        for _ in range(self.draw.choice([1, 1, 2])):
            which = self.draw.randrange(len(beats))
            beats[which] = self._anew(beats[which], self.voices[which], near, own)
        if self.draw.random() < CARRIED:
            after_ns = self.draw.choice(own)
            work_ns = self.voices[which].work_ns
            by_ns = self.draw.choice(
                [work_ns, -work_ns, self.draw.choice(own) - self.draw.choice(own)]
            ) + self.draw.choice([-1, 0, 0, 1])
            for other, voice in enumerate(self.voices):
                if other != which:
                    beats[other] = _carried(beats[other], voice, after_ns, by_ns)
        return tuple(beats)

    def _anew(self, beat: Beat, voice: _Voice, near: Sequence[int], own: Sequence[int]) -> Beat:
        """Another beat for one source: to an instant, a little aside, or anywhere."""
        chance = self.draw.random()
        if chance < 0.5:
            instant_ns = self.draw.choice(own if self.draw.random() < AROUND else near)
            aside_ns = self.draw.choice([-1, 0, 1, -voice.work_ns, -voice.work_ns])
            return self._at(beat, voice, max(0, instant_ns + aside_ns))
        step_ns = self.draw.choice([-1, 1]) * int(2 ** self.draw.uniform(0, _bits(self.longest_ns)))
        if chance < 0.75:
            return Beat(max(0, beat.offset_ns + step_ns), beat.gap_ns)
        if chance < 0.9 and voice.free:
            return Beat(beat.offset_ns, _within(voice, beat.gap_ns + step_ns))
        return self._drawn(voice)

    def _at(self, beat: Beat, voice: _Voice, instant_ns: int) -> Beat:
        """The first release at an instant, or one in a row of releases, or the second."""
        chance = self.draw.random()
        if 0.4 <= chance < 0.7:
            return Beat(instant_ns % beat.gap_ns, beat.gap_ns)
        gap_ns = instant_ns - beat.offset_ns
        if chance >= 0.7 and voice.free and voice.period_ns <= gap_ns == _within(voice, gap_ns):
            return Beat(beat.offset_ns, gap_ns)
        return Beat(instant_ns, beat.gap_ns)


CARRIED = 0.3
"""How often what comes later is carried along."""
_MOVED = (TaskKind.PERIODIC, TaskKind.SPORADIC)


def _carried(beat: Beat, voice: _Voice, after_ns: int, by_ns: int) -> Beat:
    """The first release from an instant on comes so much later, and with it all behind it."""
    if beat.offset_ns >= after_ns:
        return Beat(max(0, beat.offset_ns + by_ns), beat.gap_ns)
    if voice.free and beat.offset_ns + beat.gap_ns >= after_ns:
        return Beat(beat.offset_ns, _within(voice, beat.gap_ns + by_ns))
    return beat


def _within(voice: _Voice, gap_ns: int) -> int:
    """The closest distance that the source may have."""
    return min(PERIODS * voice.period_ns, max(voice.period_ns, gap_ns))


def _bits(number: int) -> int:
    return number.bit_length() - 1
