# SPDX-License-Identifier: BSD-2-Clause
"""What each BPF program of the scheduler in Linux takes, on average over a run of 2 s.

Three periodic threads in one server, 3 ms in 10 ms, beside one that never sleeps in another, 5 ms
in 10 ms, on a machine of one cpu that counts instructions: one takes a nanosecond. The kernel
itself counts how often a program runs and for how long (`kernel.bpf_stats_enabled`); all of it is
recorded, as in every run.
"""

from collections.abc import Iterator

from bench.environment import SkippedError
from bench.results import Row

from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.linux.run import run_counted
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.model import Domain, Interface, MissingError, System, Task, TaskKind, parse_policy

MS = 1_000_000
HORIZON_NS = 2_000 * MS
PERIODS_NS = (10 * MS, 20 * MS, 40 * MS)
OFTEN = 100
"""Programs that run less often come and go with the scheduler: no average is said of them."""
PREFIX = "hyperperiod_"


def system() -> System:
    """The two servers and what is in them."""
    server = {"period_ns": 10 * MS}
    periodic = tuple(
        Task(name=f"t{index}", period_ns=period_ns, wcet_ns=period_ns // 20)
        for index, period_ns in enumerate(PERIODS_NS)
    )
    hog = (Task(name="hog", kind=TaskKind.BUSY),)
    return System(
        name="programs",
        policy=parse_policy("ds"),
        domains=(
            Domain(name="control", interface=Interface(budget_ns=3 * MS, **server), tasks=periodic),
            Domain(name="other", interface=Interface(budget_ns=5 * MS, **server), tasks=hog),
        ),
    )


def measure() -> Iterator[Row]:
    """Runs and instructions of each program; SkippedError where there is no machine to run on."""
    options = LinuxOptions(icount=True, counts=True)
    try:
        ((_, spent),) = run_counted([RunRequest(system(), HORIZON_NS)], options=options)
    except MissingError as error:
        raise SkippedError(str(error)) from None
    for name, one in sorted(spent.items(), key=lambda each: -each[1].ns):
        if one.runs >= OFTEN:
            said = name.removeprefix(PREFIX)
            yield Row(f"{said}: runs", one.runs, "runs")
            yield Row(f"{said}: on average", one.ns // one.runs, "instructions")
