# SPDX-License-Identifier: BSD-2-Clause
"""Drawn systems with flows through a driver and one to three domains behind it, beside a domain
that never sleeps, and those of them that the analysis accepts with the overheads of a host."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction

from hyperperiod.analysis import AnalysisResult, analyze, resolve
from hyperperiod.model import (
    Domain,
    Flow,
    InputError,
    Scheduler,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
)
from hyperperiod.model.policy import PRESETS

TRIED = 60
"""So many are drawn of each policy."""

_US = 1_000
_MS = 1_000_000


def generated(preset: str, number: int, costs: Callable[[System], System]) -> System:
    """The system with this number, and the overheads that `costs` gives it."""
    draw = random.Random(f"guaranteed flows {preset} {number}")
    behind = draw.randint(1, 3)
    periods_ns = [draw.choice((40, 50, 60, 80)) * _MS for _ in range(behind)]
    driver = _domain(
        draw, "driver", min(periods_ns) // (2 * behind), min(periods_ns), draw.randint(20, 60)
    )
    domains = [
        _domain(draw, f"d{number}", period_ns, period_ns, draw.randint(50, 300))
        for number, period_ns in enumerate(periods_ns)
    ]
    flows = [_flow(draw, number, period_ns) for number, period_ns in enumerate(periods_ns)]
    return costs(
        System(
            name=f"guaranteed-flows-{preset}-{number}",
            policy=PRESETS[preset],
            domains=(driver, *domains, Domain(name="rest", best_effort=True)),
            flows=tuple(flows),
        )
    )


def _domain(
    draw: random.Random, name: str, period_ns: int, deadline_ns: int, tens_of_us: int
) -> Domain:
    hop = Task(
        name="hop",
        kind=TaskKind.EVENT,
        period_ns=period_ns,
        deadline_ns=deadline_ns,
        wcet_ns=tens_of_us * 10 * _US,
        etf=draw.choice((Fraction(1), Fraction(1, 2))),
    )
    own = Task(
        name="own",
        period_ns=draw.choice((50, 80, 100)) * _MS,
        wcet_ns=draw.randint(50, 400) * 10 * _US,
    )
    return Domain(
        name=name,
        scheduler=draw.choice((Scheduler.RM, Scheduler.DM, Scheduler.EDF)),
        interface_period_ns=draw.choice((4, 5, 8, 10)) * _MS,
        tasks=(hop, own) if draw.random() < 0.5 else (hop,),
    )


def _flow(draw: random.Random, number: int, period_ns: int) -> Flow:
    own = f"d{number}"
    way = draw.choice((("driver", own, "driver"), ("driver", own), (own, "driver")))
    return Flow(
        name=f"f{number}",
        source=Source(
            kind=draw.choice((SourceKind.PERIODIC, SourceKind.SPORADIC)),
            period_ns=period_ns,
            offset_ns=draw.randint(0, 20) * _MS,
            jitter_ns=draw.choice((0, 2)) * _MS,
        ),
        hops=tuple(f"{name}.hop" for name in way),
        deadline_ns=3 * period_ns,
        queue=4,
    )


def schedulable(
    preset: str, costs: Callable[[System], System]
) -> Iterator[tuple[System, AnalysisResult]]:
    """Generated systems that the analysis accepts."""
    for number in range(TRIED):
        try:
            system = resolve(generated(preset, number, costs))
        except InputError:
            continue
        verdict = analyze(system)
        if verdict.schedulable is True:
            yield system, verdict
