# SPDX-License-Identifier: BSD-2-Clause
"""Systems that are judged from numbers alone have the rows that the analysis gives them."""

from __future__ import annotations

from typing import Any

import pytest

from hyperperiod.analysis import Analysis
from hyperperiod.analysis.plain_systems import PlainSystems, plain_like
from hyperperiod.experiments.sweep import judge as judging
from hyperperiod.experiments.sweep.experiment import experiment_in, system_of
from hyperperiod.experiments.sweep.tables import part_as_parquet
from hyperperiod.model import PRESETS

SHORT = {"min_period": "20ms", "max_period": "300ms"}
DRAWS: dict[str, dict[str, Any]] = {
    "uunifast": {"domains": 3, "tasks": 9, **SHORT},
    "shorter deadlines": {"domains": 3, "tasks": 9, "min_deadline": 0.3, **SHORT},
    "long": {"domains": 2, "tasks": 8, "max_share": 0.9, "generator": "randfixedsum", **SHORT},
    "csa": {"domains": 3, "generator": "csa", **SHORT},
    "ertds": {"domains": 3, "generator": "ertds"},
    "automotive": {"domains": 3, "generator": "automotive"},
    "more domains than tasks": {"domains": 9, "tasks": 5, **SHORT},
}
INTERFACES: dict[str, dict[str, Any]] = {
    "best": {},
    "period": {"interface_period": "7ms"},
    "range": {"interface_period_range": {"min": "3ms", "max": "12ms", "step": "3ms"}},
    "given": {"interface": {"period": "6ms", "budget": "2ms"}},
}


def sweep(draw: dict[str, Any], system: dict[str, Any], domain: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "plain",
        "systems": 5,
        "system": {"policy": "crps", **system},
        "draw": {"utilization": 0.5, **draw, "domain": domain},
        "grid": {"draw.utilization": [0.4, 0.7, 0.85, 0.97]},
    }


def both_ways(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """Holds the files of a sweep against those by `analyze` alone; how many it was not asked of."""
    experiment = experiment_in(values)
    made = 0

    def counted(*arguments: Any, **options: Any) -> Analysis:
        nonlocal made
        made += 1
        return Analysis(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(judging, "Analysis", counted)
        quick = [part_as_parquet(experiment, part) for part in experiment.parts()]
    with monkeypatch.context() as patch:
        patch.setattr(judging, "_plain", lambda _: None)
        slow = [part_as_parquet(experiment, part) for part in experiment.parts()]
    assert quick == slow
    return sum(part.systems for part in experiment.parts()) - made


@pytest.mark.parametrize("scheduler", ["rm", "dm", "edf"])
@pytest.mark.parametrize("interface", INTERFACES)
def test_every_kind_of_draw(
    interface: str, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {
        name: both_ways(
            sweep(draw, {"quantum": "1ms"}, {**INTERFACES[interface], "scheduler": scheduler}),
            monkeypatch,
        )
        for name, draw in DRAWS.items()
    }
    # A given interface may be too small for all that a generator draws.
    assert all(count > 0 for count in quick.values()) or interface == "given", quick
    assert sum(quick.values()) > 20


@pytest.mark.parametrize("policy", PRESETS)
def test_every_policy(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for domain in (INTERFACES["best"], INTERFACES["period"]):
        quick = both_ways(sweep(DRAWS["uunifast"], {"policy": policy}, domain), monkeypatch)
        assert quick > 8 or PRESETS[policy].slack == "spare"


@pytest.mark.parametrize(
    "more",
    [
        {"sbf": "servers"},
        {"sbf": "harmonic"},
        {"policy": "rtds", "sbf": "edp"},
        {"overheads": {"context_switch": "10us"}},
        {"stolen": [{"pcpu": 0, "period": "100ms", "duration": "1ms"}]},
        {"swap": [{"at": "1s", "policy": "ptps"}]},
        {"pcpus": 2},
        {"policy": "ertds"},
    ],
    ids=str,
)
def test_what_says_more_is_for_the_analysis(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert both_ways(sweep(DRAWS["uunifast"], more, {}), monkeypatch) == 0


@pytest.mark.parametrize(
    "domain",
    [
        {"task": [{"name": "t", "kind": "busy"}]},
        {"scheduler": "fifo"},
        {"vcpus": 2, "scheduler": "gedf", "interface_period": "5ms"},
        {"priority": 1},
        {"pcpu": 0},
        {"extra": True, "interface_period": "5ms"},
    ],
    ids=str,
)
def test_domains_that_say_more(domain: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    policy = {"policy": "sedf"} if "extra" in domain else {}
    both_ways(sweep(DRAWS["uunifast"], policy, domain), monkeypatch)


@pytest.mark.parametrize(
    "task",
    [
        {"jitter": "1ms"},
        {"blocking": "1ms"},
        {"offset": "1ms"},
        {"kind": "sporadic"},
        {"deadline": "19ms"},
        {"wcet": "1us"},
        {"period": "19ms"},
        {"etf": 0.5},
    ],
    ids=str,
)
def test_tasks_that_say_more(task: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    values = sweep({**DRAWS["uunifast"], "task": task}, {}, {})
    quick = both_ways(values, monkeypatch)
    assert (quick > 0) == ("etf" in task)


def test_more_domains_than_the_example_has_are_for_the_analysis() -> None:
    experiment = experiment_in(sweep(DRAWS["uunifast"], {}, {}))
    plain = plain_like(system_of(experiment.points[0], 0))
    assert isinstance(plain, PlainSystems)
    load = (1_000_000, 50_000_000, 50_000_000, 0, 0)
    assert plain.judge([[load]] * 3) is not None
    assert plain.judge([[load]] * 4) is None
