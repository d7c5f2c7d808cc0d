# SPDX-License-Identifier: BSD-2-Clause
"""A system on a host, analysed first: the one place that knows the analysis and the hosts.

A host runs a system whose interfaces are known, and writes into the trace whether the servers are
guaranteed their budgets. Both come from the analysis, of which a host knows nothing. Whoever has
an `Analysis` of the system already hands it in, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hyperperiod.analysis import Analysis, resolve
from hyperperiod.hosts import STOCK
from hyperperiod.hosts.refuse import refuse
from hyperperiod.model import InputError, Scheduler, System, partitions_alone, with_policy

if TYPE_CHECKING:
    from pathlib import Path

    from hyperperiod.hosts.linux.attend import LinuxOptions
    from hyperperiod.hosts.recorded_jobs import RecordedJobs
    from hyperperiod.hosts.recorded_run import RunRequest
    from hyperperiod.hosts.result import RunResult
    from hyperperiod.hosts.rule import Rule
    from hyperperiod.hosts.sim import ManyCounts
    from hyperperiod.hosts.xen.plan import XenOptions


def simulate(
    system: System,
    horizon_ns: int,
    seed: int = 1,
    trace_path: Path | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    analysis: Analysis | None = None,
    histograms: bool = False,
    responses: bool = False,
    check: bool = False,
    rule: Rule | None = None,
    jobs: RecordedJobs | None = None,
) -> RunResult:
    """Run `system` in the simulator from 0 to `horizon_ns` and return the result object.

    Missing interfaces are computed first; `analysis` is that of `system`, where there is one
    already. The result of a system with overruns says who was hurt by them, which takes another run
    without them. `progress` is called with the instant that the run has reached. With `histograms`
    tasks and flows have response times as (lowest, highest, count), with `responses` each of them;
    with `check` the core's conservation laws are tested at every instant (slow). A `rule` decides
    in the place of the policy; a trace and a check would be about that, so there are none. Tasks
    that have `jobs` release these, not those of their model, which analysis and bounds are of.

    Raises InputError for what cannot be run.
    """
    from hyperperiod.hosts.sim import run

    if rule is not None and (check or trace_path is not None):
        found = "check" if check else "trace"
        raise InputError("", None, found, "one with a rule in Python", "none: they judge policies")

    refuse(partitions_alone(system), horizon_ns, seed)
    analysis = analysis or Analysis(system)
    completed, guarantees = _prepared(analysis, trace_path)
    result = run(
        completed,
        horizon_ns,
        seed,
        trace_path,
        progress,
        guarantees=guarantees,
        histograms=histograms,
        responses=responses,
        check=check,
        rule=rule,
        jobs=jobs,
    )
    return _with_overruns(result, analysis, completed, horizon_ns, seed)


def simulate_many(
    systems: Sequence[tuple[System, int]], horizon_ns: int, threads: int = 1
) -> ManyCounts:
    """Run complete systems, each with its seed, from 0 to `horizon_ns`: their counts as arrays.

    They run in native code, on so many threads. InputError for one that cannot be run.
    """
    from hyperperiod.hosts.sim import run_many

    return run_many(systems, horizon_ns, threads)


def run_on_xen(
    system: System,
    horizon_ns: int,
    seed: int = 1,
    trace_path: Path | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    analysis: Analysis | None = None,
    options: XenOptions | None = None,
) -> RunResult:
    """Run `system` on Xen from 0 to `horizon_ns` and return the result object.

    `analysis` and `progress` are as for `simulate`. Raises InputError for what cannot be run,
    MissingError for what is not built or installed, FailedError when the machine does not come to
    its end or when its decisions are not those of the core.
    """
    from hyperperiod.hosts.xen.run import run

    request = system, horizon_ns, seed, trace_path
    return _run_recorded(request, analysis, lambda wanted: run(wanted, progress, options))


def run_on_linux(
    system: System,
    horizon_ns: int,
    seed: int = 1,
    trace_path: Path | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    analysis: Analysis | None = None,
    options: LinuxOptions | None = None,
) -> RunResult:
    """Run `system` on Linux from 0 to `horizon_ns` and return the result object.

    Arguments and errors are those of `run_on_xen`.
    """
    from hyperperiod.hosts.linux.run import run

    request = system, horizon_ns, seed, trace_path
    return _run_recorded(request, analysis, lambda wanted: run(wanted, progress, options))


def _run_recorded(
    request: tuple[System, int, int, Path | None],
    analysis: Analysis | None,
    run: Callable[[RunRequest], RunResult],
) -> RunResult:
    """The result of a run on a host that records: of a system, horizon (ns), seed and trace."""
    from hyperperiod.hosts.recorded_run import RunRequest

    system, horizon_ns, seed, trace_path = request
    refuse(system, horizon_ns, seed)
    analysis = analysis or Analysis(system)
    completed, guarantees = _prepared(analysis, trace_path)
    result = run(RunRequest(completed, horizon_ns, seed, trace_path, guarantees))
    return _with_overruns(result, analysis, completed, horizon_ns, seed)


def _with_overruns(
    result: RunResult, analysis: Analysis, system: System, horizon_ns: int, seed: int
) -> RunResult:
    """The result with who was hurt by the overruns of the system, whose interfaces are known.

    Of what the simulator cannot run, and of schedulers that it has not, nobody says so.
    """
    fair = any(domain.scheduler is Scheduler.FAIR for domain in system.domains)
    if not system.overruns or result.interrupted or fair or result.host in STOCK:
        return result
    from hyperperiod.hosts.sim import HOST, run
    from hyperperiod.overruns import overruns_result

    without = run(system.replace(overruns=()), horizon_ns, seed)
    predicted = result if result.host == HOST else run(system, horizon_ns, seed)
    return result.replace(overruns=overruns_result(system, analysis, result, predicted, without))


def _prepared(analysis: Analysis, trace_path: Path | None) -> tuple[System, bool]:
    """Returns the system with every interface, and whether the trace promises budgets.

    Only a trace says whether servers are guaranteed their budgets, so nothing asks without one.
    """
    return complete(analysis), trace_path is not None and guaranteed(analysis)


def complete(analysis: Analysis) -> System:
    """The system with every interface, and a default spare also if only a swap needs one.

    InputError for a domain that no interface can be computed for.
    """
    completed = analysis.resolution.whole()
    for swap in completed.swaps:
        if completed.spare is None:
            spare = resolve(completed.replace(policy=swap.policy)).spare
            completed = completed.replace(spare=spare)
    return completed


def policy_verdicts(analysis: Analysis) -> list[tuple[str, bool | None]]:
    """Each policy that a run sees, and whether the system as it starts is schedulable under it.

    What happens when one policy follows another is not analysed.
    """
    system = complete(analysis).replace(swaps=(), changes=())
    policies = [analysis.system.policy, *(swap.policy for swap in analysis.system.swaps)]
    each = {str(policy): with_policy(system, policy) for policy in policies}
    return [(name, Analysis(one).result().schedulable) for name, one in each.items()]


def guaranteed(analysis: Analysis) -> bool:
    """Returns whether the host-level test holds under every policy that the run will see.

    Interfaces that change on the way are not analysed: nothing is promised then.
    """
    system = complete(analysis)
    if system.changes:
        return False
    later = [Analysis(with_policy(system, swap.policy)) for swap in system.swaps]
    return all(host.whole.holds is True for one in (analysis, *later) for host in one.hosts)
