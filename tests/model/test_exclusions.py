# SPDX-License-Identifier: BSD-2-Clause
"""The table of what excludes what: each key of each row is refused, and names a field."""

from __future__ import annotations

from typing import Any

import pytest

from hyperperiod.model import InputError, System
from hyperperiod.model.exclusions import EXCLUDED, Narrower
from hyperperiod.model.part import fields_of

TASK = {"name": "t", "period": "10ms", "wcet": "1ms"}
BUSY = {"name": "t", "kind": "busy"}
COMMAND = {**BUSY, "command": ["true"]}
DOMAIN = {"name": "d", "task": [TASK], "pcpu": 0}
INNER = {"name": "d.in", "task": [TASK]}
OUTER = {"name": "d", "pcpu": 0, "domain": [INNER]}
SOURCE = {"period": "10ms"}
CLOSED = {"kind": "closed", "clients": 1, "think": "1ms"}
INTERFACE = {"period": "10ms", "budget": "1ms"}
WINDOWS = [{"start": "0ms", "duration": "1ms"}]
PARTITION = {"name": "d", "windows": WINDOWS}
TABLE: dict[str, Any] = {"policy": "table", "major_frame": "10ms"}

VALUES: dict[str, Any] = {
    "blocking": "1ms",
    "best_effort": True,
    "burst": 2,
    "change": [{"at": "1ms", "domain": "d", "interface": INTERFACE}],
    "clients": 3,
    "deadline": "9ms",
    "etf": 0.5,
    "extra": True,
    "interface": INTERFACE,
    "interface_period": "10ms",
    "interface_period_range": {"min": "1ms", "max": "2ms"},
    "jitter": "1ms",
    "offset": "1ms",
    "overheads": {"pick": "1us"},
    "apart": ["e"],
    "pcpu": 0,
    "pcpus": [0],
    "period": "10ms",
    "priority": 1,
    "quantum": "1ms",
    "sbf": "edp",
    "spare": INTERFACE,
    "spread": True,
    "stolen": [{"period": "2ms", "duration": "1ms"}],
    "swap": [{"at": "1ms", "policy": "ds"}],
    "task": [TASK],
    "together": True,
    "think": "1ms",
    "think_draw": "constant",
    "vcpu": 0,
    "vcpus": 2,
    "wcet": "1ms",
    "weight": 5,
    "windows": WINDOWS,
}
"""A value for each key of the table that is not its default."""


def system_of(domain: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "s", "policy": "ptps", "domain": [domain]} | more


def with_vcpu(given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return system_of({"name": "d", "task": [TASK], "vcpu": [{}, given]}, **more)


def in_task(given: dict[str, Any], scheduler: str, task: dict[str, Any]) -> dict[str, Any]:
    return system_of({**DOMAIN, "scheduler": scheduler, "task": [{**task, **given}]})


def in_flow(given: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    flow = {"name": "f", "source": {**source, **given}, "hops": ["d.e"], "deadline": "9ms"}
    event = {**TASK, "name": "e", "kind": "event"}
    return system_of({**DOMAIN, "task": [event]}, flow=[flow])


def example(narrower: Narrower, given: dict[str, Any]) -> dict[str, Any]:
    """A system that is right but for the keys in `given`."""
    home = {key: value for key, value in DOMAIN.items() if key != "pcpu"}
    best_effort: dict[str, Any] = {"task": []} if "best_effort" in given else {}
    examples = {
        Narrower.BUSY_TASK: lambda: in_task(given, "edf", BUSY),
        Narrower.COMMAND: lambda: system_of(
            {**DOMAIN, "interface": INTERFACE, "task": [{**COMMAND, **given}]}
        ),
        Narrower.MOVING_TASK: lambda: in_task(given, "gedf", TASK),
        Narrower.TASK_BY_RULE: lambda: in_task(given, "rm", TASK),
        Narrower.OUTER_DOMAIN: lambda: system_of({**OUTER, **given}),
        Narrower.INNER_DOMAIN: lambda: system_of(
            {**OUTER, "domain": [INNER | best_effort | given]}
        ),
        Narrower.BEST_EFFORT_DOMAIN: lambda: system_of(
            {"name": "d", "best_effort": True, "pcpu": 0, **given}
        ),
        Narrower.BEST_EFFORT_VCPU: lambda: with_vcpu({"best_effort": True, **given}),
        Narrower.PARTITION: lambda: system_of({**PARTITION, **given}, **TABLE),
        Narrower.TABLE: lambda: system_of(PARTITION, **TABLE, **given),
        Narrower.WEIGHTED_DOMAIN: lambda: system_of({**DOMAIN, "weight": 5, **given}),
        Narrower.WEIGHTED_VCPU: lambda: with_vcpu({"weight": 5, **given}),
        Narrower.MOVING_DOMAIN: lambda: system_of({**home, **given}, policy="rtds", pcpus=2),
        Narrower.MOVING_VCPU: lambda: with_vcpu(given, policy="rtds", pcpus=2),
        Narrower.OPEN_SOURCE: lambda: in_flow(given, SOURCE),
        Narrower.CLOSED_SOURCE: lambda: in_flow(given, CLOSED),
    }
    return examples[narrower]()


ROWS = [
    pytest.param(narrower, name, id=f"{narrower}: {name}")
    for narrower, rows in EXCLUDED.items()
    for row in rows
    for name in row.fields
]


@pytest.mark.parametrize(("narrower", "name"), ROWS)
def test_each_key_of_the_table_is_refused(narrower: Narrower, name: str) -> None:
    renamed = {"tasks": "task", "own_vcpus": "vcpu", "swaps": "swap", "changes": "change"}
    key = renamed.get(name, name.removesuffix("_ns"))
    value = [{}] if name == "own_vcpus" else VALUES[key]
    with pytest.raises(InputError) as refused:
        System.of(example(narrower, {key: value}))
    refusals = [one for one in refused.value.problems if f".{one.key}".endswith(f".{key}")]
    assert len(refusals) == 1, str(refused.value)
    assert "{" not in refusals[0].found + refusals[0].allowed


@pytest.mark.parametrize("narrower", [one for one in Narrower if one is not Narrower.BUSY_TASK])
def test_without_these_keys_nothing_is_refused(narrower: Narrower) -> None:
    System.of(example(narrower, {}))


def test_a_busy_task_needs_an_interface_and_no_more() -> None:
    busy = example(Narrower.BUSY_TASK, {})
    busy["domain"][0]["interface"] = INTERFACE
    System.of(busy)


def test_the_table_has_a_row_for_every_kind_and_names_fields() -> None:
    assert set(EXCLUDED) == set(Narrower)
    from hyperperiod.model import Domain, Source, Task

    known = {name for part in (Domain, Source, System, Task) for name in fields_of(part)}
    for rows in EXCLUDED.values():
        for row in rows:
            named = {*row.fields, *([row.unless] if row.unless else [])}
            assert named <= known
