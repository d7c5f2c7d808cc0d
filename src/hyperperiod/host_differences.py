# SPDX-License-Identifier: BSD-2-Clause
"""What lies between prediction and measurement: the largest difference, and what it comes from.

The simulator knows no overheads unless the file has some. So a run on a machine is laid beside one
more of the simulator, with what the machine takes: what that reaches is explained, the rest is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hyperperiod.analysis import Analysis
from hyperperiod.for_host import ForHost
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.sim import HOST, run
from hyperperiod.model import format_time, with_policy
from hyperperiod.model.errors import some_names
from hyperperiod.overruns import bounds_of


def difference_sentences(results: Sequence[RunResult], ready: ForHost) -> tuple[str, ...]:
    """What is to be said of runs of one system on several hosts, under each policy.

    `ready` is the system as the first machine was given it.
    """
    predicted = {result.policy: result for result in results if result.host == HOST}
    return tuple(
        sentence
        for result in results
        if result.host != HOST and result.policy in predicted
        for sentence in _of_machine(predicted[result.policy], result, ready)
    )


def _of_machine(predicted: RunResult, measured: RunResult, ready: ForHost) -> Iterator[str]:
    where = f"{measured.host} under {measured.policy}"
    told, seen = _longest(predicted), _longest(measured)
    name = max(told.keys() & seen.keys(), key=lambda one: abs(seen[one] - told[one]), default="")
    analysis = ready.judged
    if str(analysis.system.policy) != measured.policy:
        analysis = Analysis(with_policy(analysis.system, measured.policy))
    if name:
        yield f"{where}: {_largest(name, told[name], seen[name])}"
        if seen[name] != told[name]:
            again = run(analysis.system, predicted.horizon_ns, predicted.seed or 0)
            yield f"{where}: {_explained(told[name], seen[name], _longest(again)[name], ready)}"
    yield f"{where}: {_of_bounds(seen, bounds_of(analysis))}"


def _longest(result: RunResult) -> dict[str, int]:
    """The longest response of each task and flow that had one, by name (ns)."""
    return {name: one.response_ns.max for name, one in result.entries if one.response_ns}


def _largest(name: str, told_ns: int, seen_ns: int) -> str:
    if told_ns == seen_ns:
        return "every longest response is the predicted one"
    return (
        f"the largest difference is that of {name}: {format_time(told_ns)} predicted,"
        f" {format_time(seen_ns)} seen"
    )


def _explained(told_ns: int, seen_ns: int, again_ns: int, ready: ForHost) -> str:
    """Returns how much of a difference the simulator shows too, given the host's overheads."""
    left_ns = seen_ns - again_ns
    share = 1 - abs(left_ns) / abs(seen_ns - told_ns)
    verdict = (
        f"{share:.0%} of the difference is theirs" if share > 0 else "it does not come from these"
    )
    return (
        f"with overheads ({ready.counted.source}) the simulator says {format_time(again_ns)}:"
        f" {verdict}"
    )


def _of_bounds(seen: dict[str, int], bounds: Mapping[str, int | None]) -> str:
    known = {name: bound for name, bound in bounds.items() if bound is not None and name in seen}
    above = [name for name, bound in known.items() if seen[name] > bound]
    open_ones = len(seen) - len(known)
    if above:
        return f"above the bound that is proved with these overheads: {some_names(above)}"
    if not known:
        return "no task or flow has a bound with these overheads"
    if open_ones:
        return (
            f"{len(known)} of {len(seen)} tasks and flows have a bound with these overheads,"
            " and none was above it"
        )
    return "every longest response is within its bound with these overheads"
