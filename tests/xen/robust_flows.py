# SPDX-License-Identifier: BSD-2-Clause
"""Robust systems with flows: those of robust.py, with items that go from domain to domain.

A driver, one to three domains behind it, and at times one that never sleeps. Each of the domains
has a flow that goes from the driver to it and back, or ends there, or starts there and passes
another one; sources are periodic or sporadic, with jitter, bursts and longer queues at times.
`FOUND` holds the numbers that passed; `python -m tests.xen.robust_flows` finds them anew.
"""

from __future__ import annotations

import random
import sys
from fractions import Fraction
from itertools import count, islice

from tests.support.robust import in_a_class, is_robust

from hyperperiod.model import (
    Domain,
    Flow,
    Interface,
    Scheduler,
    Source,
    SourceKind,
    System,
    Task,
    TaskKind,
)
from hyperperiod.model.policy import PRESETS, Order

WANTED = 4
"""Robust systems per preset."""

_US = 1_000
_MS = 1_000_000

# Found by `python -m tests.xen.robust_flows`.
FOUND: dict[str, tuple[int, ...]] = {
    "ptps": (0, 5, 7, 8),
    "wcps": (31, 39, 45, 58),
    "crps": (5, 9, 29, 40),
    "ds": (2, 5, 8, 15),
    "polling": (1, 5, 6, 9),
    "sporadic": (4, 17, 46, 47),
    "rtds": (3, 8, 12, 13),
    "ertds": (5, 9, 13, 14),
    "cbs": (1, 4, 10, 13),
    "sedf": (4, 24, 25, 30),
    "sedf-prime": (18, 42, 69, 72),
    "psedf": (1, 5, 19, 24),
    "hsf-fp": (1, 7, 16, 23),
    "partitioned-hsf-fp": (0, 1, 2, 7),
}


def candidate(preset: str, number: int) -> System:
    """The system with this number; whether it is robust remains to be seen."""
    draw = random.Random(f"flows {preset} {number}")
    base_ns = draw.choice((5, 6, 8)) * _MS
    behind = draw.randint(1, 3)
    names = ["driver", *(f"d{number}" for number in range(behind))]
    domains = [_domain(draw, name, base_ns, draw.uniform(0.5, 0.9) / len(names)) for name in names]
    if draw.random() < 0.4:
        domains.append(Domain(name="rest", best_effort=True))
    flows = tuple(_flow(draw, names, number, base_ns) for number in range(behind))
    if PRESETS[preset].order is Order.FP_EDF:
        domains = [one if one.best_effort else in_a_class(draw, one) for one in domains]
    return System(
        name=f"flows-{preset}-{number}",
        policy=PRESETS[preset],
        domains=tuple(domains),
        flows=flows,
    )


def _domain(draw: random.Random, name: str, base_ns: int, bandwidth: float) -> Domain:
    period_ns = base_ns * draw.choice((1, 2))
    budget_ns = int(period_ns * bandwidth) // (10 * _US) * 10 * _US
    scheduler = draw.choice([Scheduler.RM, Scheduler.DM, Scheduler.EDF, Scheduler.FIFO])
    tasks = [
        Task(
            name="hop",
            kind=TaskKind.EVENT,
            period_ns=base_ns * 2,
            wcet_ns=draw.randint(10, 60) * 10 * _US,
            etf=draw.choice((Fraction(1), Fraction(1, 2))),
        )
    ]
    if draw.random() < 0.5:
        tasks.append(
            Task(
                name="own",
                period_ns=base_ns * draw.choice((2, 4)),
                wcet_ns=draw.randint(10, 60) * 10 * _US,
                offset_ns=draw.randint(50, base_ns // (10 * _US)) * 10 * _US,
            )
        )
    return Domain(
        name=name,
        scheduler=scheduler,
        interface=Interface(period_ns=period_ns, budget_ns=max(200 * _US, budget_ns)),
        tasks=tuple(tasks),
    )


def _flow(draw: random.Random, names: list[str], number: int, base_ns: int) -> Flow:
    own = f"d{number}"
    ways = (["driver", own, "driver"], ["driver", own], [own, "driver"], [own, draw.choice(names)])
    way = draw.choice((ways[0], *ways))
    return Flow(
        name=f"f{number}",
        source=Source(
            kind=draw.choice((SourceKind.PERIODIC, SourceKind.PERIODIC, SourceKind.SPORADIC)),
            period_ns=base_ns * draw.choice((1, 2, 4)),
            offset_ns=draw.randint(50, base_ns // (10 * _US)) * 10 * _US,
            jitter_ns=draw.choice((0, 0, draw.randint(1, 5) * 100 * _US)),
            burst=draw.choice((1, 1, 1, 2, 3)),
        ),
        hops=tuple(f"{name}.hop" for name in way),
        deadline_ns=base_ns * draw.choice((2, 4)),
        queue=draw.choice((1, 1, 2, 3)),
    )


def main() -> None:
    """Print the table of numbers."""
    print("FOUND: dict[str, tuple[int, ...]] = {")
    for preset in sys.argv[1:] or PRESETS:
        robust = (number for number in count() if is_robust(candidate(preset, number)))
        numbers = ", ".join(str(number) for number in islice(robust, WANTED))
        print(f'    "{preset}": ({numbers}),', flush=True)
    print("}")


if __name__ == "__main__":
    main()
