# SPDX-License-Identifier: BSD-2-Clause
"""A table with fewer windows than one that is known, by OR-Tools CP-SAT where it is installed.

Each budget is one piece or two, in its period; pieces do not overlap. The windows are the pieces,
less one for each budget that ends where the next one of its server begins. What the solver finds
is looked at again. One worker, no presolve (`analysis.fit.exact`) and a limit on the solver's own
deterministic time: one version of OR-Tools finds the same everywhere.

Inputs: servers on a pcpu, their hyperperiod (ns), how many windows are to be undercut. Result:
(server, begin, end) of pieces in order (ns); None if none better are found. Errors: none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import Any

from hyperperiod.model.interface import Interface

SOLVER_TIME = 0.1
"""The limit, in the solver's own time: a few seconds."""
MOST_BUDGETS = 100
"""With more of them it finds nothing in its time, and is not asked."""

Pieces = list[tuple[int, int, int]]


def fewer_windows(servers: Sequence[Interface], frame_ns: int, known: int) -> Pieces | None:
    """Pieces of all budgets that make fewer windows than are known; None if none are found."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return None
    if sum(frame_ns // one.period_ns for one in servers) > MOST_BUDGETS:
        return None
    unit_ns = gcd(*(time for one in servers for time in (one.period_ns, one.budget_ns)))
    model, intervals, pieces = cp_model.CpModel(), [], []
    count: list[Any] = []
    for owner, server in enumerate(servers):
        budget, period = server.budget_ns // unit_ns, server.period_ns // unit_ns
        before: Any = None
        for release in range(0, frame_ns // unit_ns, period):
            cut, joined = model.new_bool_var(""), model.new_bool_var("")
            begin, end, again, done = (
                model.new_int_var(release, release + period, "") for _ in range(4)
            )
            first, last = model.new_int_var(0, budget - 1, ""), model.new_int_var(1, budget, "")
            model.add(first + last == budget)
            model.add(first == 0).only_enforce_if(~cut)
            intervals.append(model.new_optional_interval_var(begin, first, end, cut, ""))
            intervals.append(model.new_interval_var(again, last, done, ""))
            model.add(end <= again).only_enforce_if(cut)
            model.add(begin == release).only_enforce_if(joined, cut)
            model.add(again == release).only_enforce_if(joined, ~cut)
            model.add(joined == 0 if before is None else before == release).only_enforce_if(joined)
            pieces += [(owner, begin, first), (owner, again, last)]
            count += [1, cut, -joined]
            before = done
    model.add_no_overlap(intervals)
    model.add(sum(count) < known)
    model.minimize(sum(count))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.cp_model_presolve = solver.parameters.catch_sigint_signal = False
    solver.parameters.max_deterministic_time = SOLVER_TIME
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    found = [
        (owner, unit_ns * solver.value(start), unit_ns * solver.value(start + length))
        for owner, start, length in pieces
        if solver.value(length)
    ]
    found.sort(key=lambda piece: piece[1])
    return found if _is_table(servers, frame_ns, found) else None


def _is_table(servers: Sequence[Interface], frame_ns: int, pieces: Pieces) -> bool:
    """Whether nothing overlaps, and each budget is in its period."""
    periods = [one.period_ns for one in servers]
    got = Counter[tuple[int, int, int]]()
    for i, start_ns, end_ns in pieces:
        got[i, start_ns // periods[i], (end_ns - 1) // periods[i]] += end_ns - start_ns
    wanted = {
        (i, number, number): one.budget_ns
        for i, one in enumerate(servers)
        for number in range(frame_ns // one.period_ns)
    }
    return got == wanted and all(one[2] <= other[1] for one, other in pairwise(pieces))
