# SPDX-License-Identifier: BSD-2-Clause
"""Whatever a system has in it, the commands answer or refuse it: nothing else comes out.

Systems with vcpus that differ and move, of `vcpus_drawn`, get what else a file can say on top:
flows, open and closed, overheads, thefts, supply bounds, wishes, changes, and times up to years.
A failure prints the seed that brings it back.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from tests.support.vcpus_drawn import drawn

from hyperperiod.analysis import analyze
from hyperperiod.analysis.fit.answer import Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.result import result_of
from hyperperiod.model import InputError, System, TaskKind
from hyperperiod.model.part import Part
from hyperperiod.runs import simulate

MS = 1_000_000
YEARS = 2**62 // (500 * MS)
"""Half a second becomes the longest time that there is."""
OVERHEADS = {"pick": "1us", "wake": "2us", "context_switch": "1us"}
SBFS = ("general", "edp", "servers")


def event_task(**keys: Any) -> dict[str, Any]:
    return {"name": "t", "kind": "event", "period": "80ms", "wcet": "2ms", **keys}


def chain(guest: dict[str, Any], source: dict[str, Any], **keys: Any) -> System:
    """A flow through a guest and another domain, on two pcpus."""
    domains = [
        {"name": "a", "task": [event_task()], **guest},
        {"name": "b", "task": [event_task()], "pcpu": 0},
    ]
    flow = {"name": "f", "source": source, "hops": ["a.t", "b.t"], "deadline": "1s"}
    system = {"name": "s", "policy": "ptps", "pcpus": 2, "domain": domains, "flow": [flow]}
    return System.of({**system, **keys})


MOVING = {"scheduler": "grm", "vcpus": 2, "pcpus": [0, 1], "interface_period": "10ms"}
CLOSED = {"kind": "closed", "clients": 2, "think": "10ms"}


KEYS: dict[str, dict[str, Any]] = {"overheads": {"overheads": OVERHEADS}, "edp": {"sbf": "edp"}}


@pytest.mark.parametrize("keys", KEYS)
def test_fit_judges_pcpus_that_a_flow_only_passes(keys: str) -> None:
    fitted = fit(chain({}, {"period": "400ms"}, **KEYS[keys]), Options(solver=False))
    assert fitted.status == "fitted"
    assert fitted.system is not None
    assert analyze(fitted.system).flows[0].schedulable


def test_a_flow_through_a_guest_whose_jobs_move_is_open() -> None:
    system = chain(MOVING, CLOSED, overheads=OVERHEADS)
    assert analyze(system).flows[0].schedulable is None
    fitted = fit(chain(MOVING, CLOSED), Options(solver=False))
    assert fitted.status == "not found"
    assert "not proved" in fitted.reason
    simulate(system, 100 * MS)


@pytest.mark.parametrize("sbf", SBFS)
def test_servers_that_repeat_only_after_longer_than_any_time(sbf: str) -> None:
    domains = [
        {
            "name": name,
            "interface": {"period": period * 10**15, "budget": 19 * 10**15},
            "task": [{"name": "t", "period": 2 * period * 10**15, "wcet": 10**15}],
        }
        for name, period in (("a", 65), ("b", 71))
    ]
    system = System.of({"name": "s", "policy": "ptps", "sbf": sbf, "domain": domains})
    assert analyze(system, "b.t", sensitivity=True).schedulable is True


def with_more(draw: random.Random, system: System) -> System | None:
    """The system with more of what a file can say; None if it is refused."""
    domains = [domain.replace(**wishes(draw, system, domain.name)) for domain in system.domains]
    system = system.replace(domains=tuple(domains), sbf=draw.choice(SBFS))
    values = vars(system).copy()
    events = [f"{one.name}.{task.name}" for one in domains for task in one.tasks]
    hops = draw.sample(events, min(len(events), draw.randint(0, 3)))
    if hops:
        open_ = {"period": f"{draw.randint(20, 400)}ms", "jitter": f"{draw.randint(0, 9)}ms"}
        source = draw.choice((open_, CLOSED))
        values["flows"] = [{"name": "f", "source": source, "hops": hops, "deadline": "400ms"}]
        values["domains"] = tuple(with_events(one, hops) for one in domains)
    if draw.random() < 0.5:
        values["overheads"] = OVERHEADS
    if draw.random() < 0.2:
        values["stolen"] = [{"period": "50ms", "duration": "1ms", "offset": "3ms"}]
    if draw.random() < 0.2:
        change = {"at": "30ms", "domain": draw.choice(domains).name}
        values["changes"] = [{**change, "interface": {"period": "20ms", "budget": "2ms"}}]
    factor = draw.choice((1, 1, 1, YEARS))
    with suppress(InputError):
        found: System = scaled(System.of(values), factor)
        return found
    return None


def wishes(draw: random.Random, system: System, name: str) -> dict[str, Any]:
    kind, others = draw.random(), [one.name for one in system.domains if one.name != name]
    if kind < 0.15:
        return {"spread": True}
    if kind < 0.3:
        return {"together": True}
    return {"apart": (draw.choice(others),)} if kind < 0.4 and others else {}


def with_events(domain: Any, hops: list[str]) -> Any:
    """The domain with the tasks that items release."""
    event = {"kind": TaskKind.EVENT, "offset_ns": 0, "jitter_ns": 0}
    tasks = (
        task.replace(**event) if f"{domain.name}.{task.name}" in hops else task
        for task in domain.tasks
    )
    return domain.replace(tasks=tuple(tasks))


def scaled(part: Any, factor: int) -> Any:
    """The same with all times longer."""
    if isinstance(part, tuple):
        return tuple(scaled(one, factor) for one in part)
    if not isinstance(part, Part):
        return part
    times = {k: v * factor for k, v in vars(part).items() if k.endswith("_ns") and v is not None}
    inside = {k: scaled(v, factor) for k, v in vars(part).items()}
    return part.replace(**(inside | times))


@pytest.mark.parametrize("seed", range(40))
def test_no_system_breaks_a_command(seed: int) -> None:
    draw = random.Random(f"no traceback {seed}")
    system = with_more(draw, drawn(seed, moving=True))
    if system is None:
        return
    with suppress(InputError):
        said = analyze(system, sensitivity=True)
        for domain in said.domains:
            analyze(system, domain.name)
            for task in domain.tasks:
                analyze(system, f"{domain.name}.{task.name}")
    with suppress(InputError):
        result_of(fit(system, Options(solver=False, limit_s=0.02)))
    with suppress(InputError):
        simulate(system, 50 * MS)
