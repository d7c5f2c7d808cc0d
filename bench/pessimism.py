# SPDX-License-Identifier: BSD-2-Clause
"""How far response bounds lie above the longest response there is.

    python -m bench.pessimism                 all policies, 60 systems each
    python -m bench.pessimism ds cbs          these
    python -m bench.pessimism --systems 20    fewer systems

Systems are small: three or four servers with periods of a few ticks (one nanosecond each), and in
one of their domains one or two sporadic tasks, rate monotonic, whose deadlines are their periods.
`worst_case.cpp` visits every state that these servers and tasks can reach, whatever the other
domains do, so the worst case is known, not sampled; the behaviour that leads to it is run in the
simulator, which must show the same response. A bound below it is a mistake: it is printed, nothing
is written, and the exit code is 1.

Counted is one number per system and kind of supply (`KINDS`): the bound of the task of lowest
priority over its worst case.
Systems without a bound under the general supply of an interface, or with too many states, are drawn
again. Each comes from its own seed, so the same numbers come out everywhere. Writes the numbers to
bench/pessimism.json, and table and picture into docs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, lcm
from pathlib import Path
from typing import Any, NamedTuple

from bench.environment import BUILD, TOP
from rich.console import Console
from rich.progress import track

from hyperperiod.analysis import analyze
from hyperperiod.model import (
    Domain,
    Interface,
    Order,
    Sbf,
    Scheduler,
    Scope,
    System,
    Task,
    TaskKind,
    parse_policy,
)
from hyperperiod.report.frame import Scale
from hyperperiod.report.lines import LineChart, LineSeries, line_svg
from hyperperiod.runs import simulate

NUMBERS = TOP / "bench" / "pessimism.json"
PICTURE = TOP / "docs" / "pictures" / "pessimism.svg"
PAGE = TOP / "docs" / "analysis" / "pessimism.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->"

KINDS = {"interface": "the interface alone", "servers": "what is known of the servers"}
"""What the table calls the kinds of supply."""

POLICIES = ("ptps", "periodic+edf", "ds", "deferrable+edf", "rtds", "cbs", "cbs+fp")
PERIODS = {1: (4, 5, 6, 8, 10, 12), 2: (4, 6, 8, 12)}
"""What periods of servers are drawn from: on one pcpu, and on two, where there are more states."""
LONGEST_CYCLE = 120
MOST_STATES = 3_000_000
ONCE = 10**9
"""A period that no run reaches."""


class UnsoundError(Exception):
    """A bound below a response, or a worst case that the simulator does not show."""


@dataclass(frozen=True)
class Small:
    """Servers (period, budget), the first of which has these tasks (period, wcet) inside."""

    policy: str
    servers: tuple[tuple[int, int], ...]
    tasks: tuple[tuple[int, int], ...]

    @property
    def pcpus(self) -> int:
        """Global policies have two, the others one."""
        return 2 if parse_policy(self.policy).scope is Scope.GLOBAL else 1

    def system(self, sbf: Sbf = Sbf.GENERAL, jobs: Sequence[Sequence[Task]] = ()) -> System:
        """The system, or one in which these jobs come, domain by domain, and no others."""
        own = [
            Task(
                name=f"t{n}",
                kind=TaskKind.SPORADIC,
                period_ns=period,
                wcet_ns=wcet,
                deadline_ns=period,
            )
            for n, (period, wcet) in enumerate(self.tasks)
        ]
        busy = [Task(name="work", kind=TaskKind.BUSY)]
        inside = list(jobs) or [own, *([busy] * (len(self.servers) - 1))]
        domains = [
            Domain(
                name=f"d{number}",
                interface=Interface(period_ns=period, budget_ns=budget),
                scheduler=Scheduler.FP if jobs else Scheduler.RM,
                tasks=tuple(tasks),
            )
            for number, ((period, budget), tasks) in enumerate(
                zip(self.servers, inside, strict=True)
            )
        ]
        policy = parse_policy(self.policy)
        return System(
            name="small", policy=policy, pcpus=self.pcpus, sbf=sbf, domains=tuple(domains)
        )


class Worst(NamedTuple):
    """The longest response of a task, and the work that leads to it: who, when, how much."""

    response: int
    events: tuple[tuple[int, int, int], ...]


def draw(generator: random.Random, policy: str) -> Small:
    """A system; nothing is known of its bounds."""
    pcpus = 2 if parse_policy(policy).scope is Scope.GLOBAL else 1
    count = generator.randint(2, 3) + (pcpus - 1)
    load = generator.uniform(0.6, 1.0) * pcpus
    while True:
        shares = [generator.random() + 0.2 for _ in range(count)]
        servers = []
        for share in shares:
            period = generator.choice(PERIODS[pcpus])
            budget = max(1, round(period * load * share / sum(shares)))
            servers.append((period, min(budget, period)))
        bandwidth = sum(budget / period for period, budget in servers)
        if bandwidth <= pcpus and lcm(*(period for period, _ in servers)) <= LONGEST_CYCLE:
            break
    period, budget = servers[0]
    number = generator.randint(1, 2) if pcpus == 1 else 1
    tasks = []
    for _ in range(number):
        own = generator.randint(2 * period, 4 * period)
        wcet = round(own * budget / period * generator.uniform(0.2, 0.8) / number)
        tasks.append((own, max(1, wcet)))
    return Small(policy, tuple(servers), tuple(sorted(tasks)))


def bounds(system: System) -> list[int] | None:
    """The response bound of each task of the first domain; None if one has none."""
    found = [task.response_bound_ns for task in analyze(system).domains[0].tasks]
    known = [bound_ns for bound_ns in found if bound_ns is not None]
    return known if len(known) == len(found) else None


def worst_case(program: Path, small: Small, most: int = MOST_STATES) -> list[Worst] | None:
    """The longest response of each task; None if there are more states than that."""
    policy = parse_policy(small.policy)
    rank = sorted({period for period, _ in small.servers}).index
    numbers = [policy.budget.code, policy.order.code, small.pcpus, most, len(small.servers)]
    for period, budget in small.servers:
        numbers += [period, budget, rank(period) if policy.order is Order.FP else 0]
    numbers += [len(small.tasks), *(number for task in small.tasks for number in task)]
    text = " ".join(map(str, numbers))
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    words = iter(map(int, done.stdout.split()))
    complete, _ = next(words), next(words)
    found = [_worst(words) for _ in small.tasks]
    return found if complete else None


def _worst(words: Iterator[int]) -> Worst:
    response, count = next(words), next(words)
    return Worst(response, tuple((next(words), next(words), next(words)) for _ in range(count)))


def replayed(small: Small, number: int, worst: Worst) -> int:
    """The longest response of the task when the simulator runs that behaviour."""
    jobs: list[list[Task]] = [[] for _ in small.servers]
    for who, time, units in worst.events:
        server, rank = (who - 100, 0) if who >= 100 else (0, who)
        jobs[server].append(
            Task(
                name=f"j{rank}n{len(jobs[server])}",
                period_ns=ONCE,
                wcet_ns=units,
                offset_ns=time,
                priority=rank,
            )
        )
    never = Task(name="never", period_ns=ONCE, wcet_ns=1, offset_ns=ONCE, priority=0)
    jobs = [own or [never] for own in jobs]
    result = simulate(small.system(jobs=jobs), max(time for _, time, _ in worst.events) + 1000)
    return max(
        task.response_ns.max
        for task in result.domains[0].tasks
        if task.response_ns and task.name.startswith(f"j{number}n")
    )


def measured(program: Path, policy: str, number: int) -> dict[str, Any]:
    """The bound and the worst case of one system: that of this number under the policy."""
    generator = random.Random(f"pessimism:{policy}:{number}")
    while True:
        small = draw(generator, policy)
        found = bounds(small.system())
        sharper = bounds(small.system(Sbf.SERVERS))
        if found is None or sharper is None:
            continue
        worst = worst_case(program, small)
        if worst is not None:
            break
    for task, (bound, one) in enumerate(zip(sharper, worst, strict=True)):
        seen = replayed(small, task, one)
        if seen != one.response or bound < one.response:
            raise UnsoundError(f"{small}, task {task}: bound {bound}, {one}, simulated {seen}")
    return {"interface": found[-1], "servers": sharper[-1], "worst": worst[-1].response}


def quantiles(ratios: Sequence[float]) -> dict[str, float]:
    """Median with a 95 % interval (order statistics: no distribution assumed), p90, largest."""
    ranked = sorted(ratios)
    count = len(ranked)
    below, tail = -1, 0.0
    while tail + comb(count, below + 1) / 2**count <= 0.025:
        below += 1
        tail += comb(count, below) / 2**count
    low = max(below, 0)
    middle = (ranked[(count - 1) // 2] + ranked[count // 2]) / 2
    return {
        "low": ranked[low],
        "median": middle,
        "high": ranked[count - 1 - low],
        "p90": ranked[min(count - 1, 9 * count // 10)],
        "largest": ranked[-1],
    }


def ratios(rows: Sequence[dict[str, int]], kind: str) -> list[float]:
    """Bound over worst case, system by system."""
    return [row[kind] / row["worst"] for row in rows]


def table(known: dict[str, list[dict[str, int]]]) -> str:
    """One row per policy."""
    lines = [
        "| policy | systems | bound by | median (95 %) | p90 | largest |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for policy, rows in known.items():
        title = f"| {policy} | {len(rows)} |"
        for kind, name in KINDS.items():
            q = quantiles(ratios(rows, kind))
            lines.append(
                f"{title} {name} | {q['median']:.2f} ({q['low']:.2f} to {q['high']:.2f})"
                f" | {q['p90']:.2f} | {q['largest']:.2f} |"
            )
            title = "| | |"
    return "\n".join(lines) + "\n"


def page_with(text: str, known: dict[str, list[dict[str, int]]]) -> str:
    """The page with today's table in it."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table(known)}{END}{rest.partition(END)[2]}"


def picture(known: dict[str, list[dict[str, int]]]) -> str:
    """The share of systems whose ratio is at most x, a line for each policy."""
    most = 4.0
    curves = []
    for policy, rows in known.items():
        ranked = sorted(ratios(rows, "servers"))
        points = [(1.0, 0.0)]
        points += [(one, (n + 1) / len(ranked)) for n, one in enumerate(ranked) if one <= most]
        curves.append(LineSeries(policy, [*points, (most, points[-1][1])], steps=True))
    return line_svg(
        LineChart(
            "Response bound over the worst case, the other servers known",
            Scale("bound / worst case, at most"),
            Scale("systems", "%", 0.01),
            curves,
            x_min=1.0,
            x_max=most,
            y_max=1.0,
        )
    )


def build() -> Path:
    """The program that visits all states; built anew, and put in place at once, if it is old."""
    BUILD.mkdir(parents=True, exist_ok=True)
    program, source = BUILD / "worst_case", TOP / "bench" / "worst_case.cpp"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-Wshadow"]
    made = BUILD / f"worst_case-{os.getpid()}"
    subprocess.run(["g++", *flags, "-o", made, source], check=True)
    made.replace(program)
    return program


def main() -> int:
    """Measures the policies that are named, or all."""
    parser = argparse.ArgumentParser(description="response bounds over the worst case")
    parser.add_argument("policies", nargs="*", metavar="POLICY")
    parser.add_argument("--systems", type=int, default=60, help="drawn per policy (60)")
    asked = parser.parse_args()
    known = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    program = build()
    for policy in asked.policies or POLICIES:
        numbers = range(asked.systems)
        try:
            known[policy] = [
                measured(program, policy, number)
                for number in track(numbers, description=policy, console=Console(stderr=True))
            ]
        except UnsoundError as error:
            print(error, file=sys.stderr)
            return 1
    NUMBERS.write_text(json.dumps(known, indent=1) + "\n")
    PICTURE.write_text(picture(known))
    PAGE.write_text(page_with(PAGE.read_text(), known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
