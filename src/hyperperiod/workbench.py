# SPDX-License-Identifier: BSD-2-Clause
"""What notebooks and programs call: a system is read, judged, fitted, run, compared, swept.

Each function does what the command of its name does, and returns the object whose JSON that
command prints (`fit`: the answer, with the fitted system). Times are texts with a unit, as in
files. Nothing is printed.

All raise InputError for what is wrong, with what was found and what is allowed, and MissingError,
with the command that installs it, for what is not there.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from hyperperiod import runs
from hyperperiod.analysis import Analysis, resolve
from hyperperiod.hosts import STOCK, machine_of, of_policy
from hyperperiod.hosts.costs import MACHINES
from hyperperiod.hosts.result import ComparisonResult, RunResult
from hyperperiod.hosts.rule import Rule
from hyperperiod.model import (
    InputError,
    Policy,
    System,
    fitting_policies,
    load_system,
    parse_policy,
    require_system,
    with_policy,
)
from hyperperiod.model.units import TimeFormatError, parse_time
from hyperperiod.whole_file import require_writable

if TYPE_CHECKING:
    from hyperperiod.analysis.fit.answer import Fitted
    from hyperperiod.experiments.sweep.result import SweepResult


def load(path: str | os.PathLike[str], policy: Policy | str | None = None) -> System:
    """The system in a file of any form, under its own policy or another."""
    system = load_system(path)
    return system if policy is None else with_policy(system, _policy(policy), pinned=False)


@overload
def simulate(
    system: System,
    horizon: str,
    *,
    seed: int = 1,
    trace: str | os.PathLike[str] | None = None,
    histograms: bool = False,
    responses: bool = False,
    check: bool = False,
    rule: Rule | None = None,
    jobs: str | os.PathLike[str] | None = None,
) -> RunResult: ...
@overload
def simulate(
    system: System,
    horizon: str,
    *,
    seeds: Iterable[int],
    histograms: bool = False,
    responses: bool = False,
    check: bool = False,
    rule: Rule | None = None,
    jobs: str | os.PathLike[str] | None = None,
) -> ComparisonResult: ...
def simulate(
    system: System,
    horizon: str,
    *,
    seed: int = 1,
    seeds: Iterable[int] | None = None,
    trace: str | os.PathLike[str] | None = None,
    histograms: bool = False,
    responses: bool = False,
    check: bool = False,
    rule: Rule | None = None,
    jobs: str | os.PathLike[str] | None = None,
) -> RunResult | ComparisonResult:
    """Runs a system in the simulator up to `horizon`; interfaces that are missing are computed.

    With `seeds` there is a run for each, side by side. `trace` is a file (.hpt) that takes the
    whole schedule; with `histograms` tasks and flows have their response times in classes, with
    `responses` each of them; with `check` the core's conservation laws are tested at every instant
    (slow). A `rule` in Python decides in the place of the policy: an experiment, neither proved nor
    deployable, on pcpus with servers of their own. Tasks that the file `jobs` names, one of
    `trace jobs --csv --ran`, have its jobs in the place of their own.
    """
    require_system(system)
    horizon_ns = _time_ns(horizon, "horizon")
    if seeds is not None and trace is not None:
        raise InputError("", None, "trace", "a file beside seeds", "a trace of a run of one seed")
    path = None if trace is None else Path(trace)
    if path is not None:
        require_writable(str(path), "trace")
    analysis = Analysis(system)
    recorded = None
    if jobs is not None:
        from hyperperiod.hosts.recorded_jobs import read_jobs

        recorded = read_jobs(os.fspath(jobs), system)
    found = [
        runs.simulate(
            system,
            horizon_ns,
            one,
            path,
            analysis=analysis,
            histograms=histograms,
            responses=responses,
            check=check,
            rule=rule,
            jobs=recorded,
        )
        for one in _seeds([seed] if seeds is None else seeds)
    ]
    return found[0] if seeds is None else _side_by_side(found)


def compare(
    system: System,
    horizon: str,
    policies: Iterable[Policy | str] | None = None,
    *,
    seeds: Iterable[int] = (1,),
    hosts: Iterable[str] | None = None,
) -> ComparisonResult:
    """Runs a system under several policies, or on several hosts, side by side.

    If not said, `policies` are all known ones that fit the system, or with `hosts` its own. Hosts
    are "sim" (alone, if not said), "xen" and "linux", and these under schedulers that they have
    themselves: "linux-eevdf", "linux-quota", "linux-deadline", "xen-credit2", "xen-rtds" and
    "xen-null"; all but the first in QEMU. Interfaces are computed once, under the system's own
    policy; releases and execution times come from the seed alone, so that runs of one seed differ
    in their policy or host and in nothing else.
    """
    horizon_ns = _time_ns(horizon, "horizon")
    places = ["sim"] if hosts is None else _hosts(hosts)
    whole = resolve(system)
    if policies is None:
        chosen = fitting_policies(whole) if hosts is None else [whole.policy]
    else:
        chosen = _policies(policies)
    drawn = _seeds(seeds)
    found = []
    for number, policy in enumerate(chosen):
        changed = with_policy(whole, policy)
        analysis = Analysis(changed)
        found += [
            _RUNS[host](changed, horizon_ns, seed, analysis)
            for host in of_policy(places, number)
            for seed in drawn
        ]
    return _side_by_side(found)


def _on_linux(
    host: str, system: System, horizon_ns: int, seed: int, analysis: Analysis
) -> RunResult:
    from hyperperiod.hosts.linux.attend import LinuxOptions

    options = LinuxOptions().under(host)
    return runs.run_on_linux(system, horizon_ns, seed, analysis=analysis, options=options)


def _on_xen(host: str, system: System, horizon_ns: int, seed: int, analysis: Analysis) -> RunResult:
    from hyperperiod.hosts.xen.plan import XenOptions

    options = XenOptions().under(host)
    return runs.run_on_xen(system, horizon_ns, seed, analysis=analysis, options=options)


_RUNS: dict[str, Callable[[System, int, int, Analysis], RunResult]] = {
    "sim": lambda system, horizon_ns, seed, analysis: runs.simulate(
        system, horizon_ns, seed, analysis=analysis
    ),
    **{
        host: partial(_on_xen if machine_of(host) == "xen" else _on_linux, host)
        for host in (*MACHINES, *STOCK)
    },
}
"""What runs a system on each host."""


def _hosts(hosts: Iterable[str]) -> list[str]:
    """The hosts, of which there is one at least, each once."""
    chosen = [hosts] if isinstance(hosts, str) else list(hosts)
    for index, host in enumerate(chosen):
        _one_of(host, [*_RUNS], "hosts")
        if host in chosen[:index]:
            raise InputError("", None, "hosts", f"{host} a second time", "each once")
    if not chosen:
        raise InputError("", None, "hosts", "none", "at least one host")
    return chosen


def fit(
    system: System,
    *,
    least: str = "bandwidth",
    within: float | None = None,
    fewest: bool = False,
    pcpus: int | None = None,
    periods: tuple[str, str] | None = None,
    grid: str | None = None,
    time_limit: str = "10s",
    solver: bool = True,
    rule: str = "sound",
) -> Fitted:
    """Chooses what a system leaves open: interfaces, pcpus, priorities; proved, or not given.

    `least` is "bandwidth" or "overhead" (`within` this share of the least bandwidth); with `fewest`
    as few of the pcpus as will do. `periods` are the shortest and the longest period of interfaces,
    which are multiples of `grid`. Without `solver` nothing is known of the optimum.
    `time_limit` is of processor time. `rule` is for driver loops: "sound" or "paper".
    """
    from hyperperiod.analysis.fit.answer import LoopRule, Options
    from hyperperiod.analysis.fit.fit import fit as fit_system
    from hyperperiod.analysis.fit.scoring import Least

    require_system(system)
    if pcpus is not None:
        system = System.of(vars(system) | {"pcpus": pcpus})
    range_ns = None
    if periods is not None:
        if isinstance(periods, str) or len(periods) != 2:
            allowed = "the shortest and the longest"
            raise InputError("", None, "periods", repr(periods), allowed)
        range_ns = (_span_ns(periods[0], "periods"), _span_ns(periods[1], "periods"))
    options = Options(
        least=Least(_one_of(least, [*Least], "least")),
        within=None if within is None else _share(within, "within"),
        fewest=fewest,
        periods=range_ns,
        step_ns=None if grid is None else _span_ns(grid, "grid"),
        limit_s=_span_ns(time_limit, "time_limit") / 1e9,
        solver=solver,
        rule=LoopRule(_one_of(rule, [*LoopRule], "rule")),
    )
    return fit_system(system, options)


def sweep(
    experiment: str | os.PathLike[str] | Mapping[str, Any],
    folder: str | os.PathLike[str] | None = None,
    *,
    systems: int | None = None,
    workers: int = 1,
    scheduler: str | None = None,
) -> SweepResult:
    """Draws systems at every point of a grid and has all of them judged.

    `experiment` is a file, or what one would say as a dictionary. With a folder the rows stay
    there, as Parquet, and the same call goes on where an earlier one ended; without, they go.
    `workers` are processes of this machine, `scheduler` is the address of a Dask cluster.
    """
    import tempfile

    from hyperperiod.libraries import require

    if _whole(workers, "workers", "a whole number") < 1:
        raise InputError("", None, "workers", str(workers), "at least 1")
    require("pyarrow", "sweep", "a sweep")
    from hyperperiod.experiments.sweep.experiment import experiment_in, load_sweep
    from hyperperiod.experiments.sweep.folder import opened
    from hyperperiod.experiments.sweep.summary import summarize
    from hyperperiod.experiments.sweep.work import work

    if isinstance(experiment, Mapping):
        asked = experiment_in(experiment, systems)
    else:
        asked = load_sweep(os.fspath(experiment), systems)
    with (
        tempfile.TemporaryDirectory(prefix="hyperperiod-") as passing,
        opened(Path(passing if folder is None else folder), asked, "folder") as kept,
    ):
        interrupted = work(asked, kept, lambda _systems: None, workers, scheduler)
        result = summarize(asked, kept, interrupted=interrupted)
    return result.replace(folder="") if folder is None else result


def _side_by_side(found: Sequence[RunResult]) -> ComparisonResult:
    return ComparisonResult(
        system=found[0].system, interrupted=found[-1].interrupted, results=tuple(found)
    )


def _seeds(seeds: Iterable[int]) -> list[int]:
    """The seeds, of which there is one at least; InputError for what is none."""
    allowed = "whole numbers, such as range(20)"
    try:
        drawn = list(seeds)
    except TypeError:
        raise InputError("", None, "seeds", repr(seeds), allowed) from None
    if not drawn:
        raise InputError("", None, "seeds", "none", "at least one seed")
    return [_whole(seed, "seed", allowed) for seed in drawn]


def _policies(policies: Iterable[Policy | str]) -> list[Policy]:
    """The policies, of which there is one at least, each once."""
    named = [policies] if isinstance(policies, str) else list(policies)
    chosen: list[Policy] = []
    for policy in map(_policy, named):
        if any(policy.rules == other.rules for other in chosen):
            raise InputError("", None, "policies", f"{policy} a second time", "each once")
        chosen.append(policy)
    if not chosen:
        raise InputError("", None, "policies", "none", "at least one policy")
    return chosen


def _policy(policy: Policy | str) -> Policy:
    return policy if isinstance(policy, Policy) else parse_policy(str(policy))


def _time_ns(time: str, what: str) -> int:
    """A time in nanoseconds; InputError for what is none."""
    if not isinstance(time, str):
        allowed = "a time with its unit, such as '10s' or f'{horizon_ns}ns'"
        raise InputError("", None, what, repr(time), allowed)
    try:
        return parse_time(time)
    except TimeFormatError as error:
        raise InputError("", None, what, repr(time), error.allowed) from None


def _span_ns(time: str, what: str) -> int:
    """A time above 0 in nanoseconds; InputError for what is none."""
    span_ns = _time_ns(time, what)
    if span_ns <= 0:
        raise InputError("", None, what, f"{span_ns} ns", "a time above 0")
    return span_ns


def _share(share: float, what: str) -> Fraction:
    """A share, exact as it is printed; InputError for what is none."""
    try:
        found = Fraction(str(share))
    except ValueError:
        found = Fraction(-1)
    if found < 0:
        raise InputError("", None, what, repr(share), "a share, such as 0.05")
    return found


def _whole(number: int, what: str, allowed: str) -> int:
    """A whole number, whoever made it (numpy has its own); InputError for what is none."""
    try:
        return operator.index(number)
    except TypeError:
        raise InputError("", None, what, repr(number), allowed) from None


def _one_of(word: str, allowed: Sequence[str], what: str) -> str:
    if word not in allowed:
        raise InputError("", None, what, repr(word), " or ".join(map(str, allowed)))
    return word
