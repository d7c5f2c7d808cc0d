# SPDX-License-Identifier: BSD-2-Clause
"""`export --to rt-app`: the tasks are there again when the workload is read, and in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.exported import TASK, server, system

from hyperperiod.export import export_rt_app, write_folder
from hyperperiod.model import Domain, InputError, System, Task, load_system

TOP = Path(__file__).parents[2]
MS = 1_000_000


def again(folder: Path, one: System) -> System:
    """The system that is read from the workload of another one."""
    write_folder(folder / "out", export_rt_app(one), {})
    return load_system(folder / "out" / "workload.json")


def numbers(task: Task) -> tuple[object, ...]:
    wcet_us = -(-task.wcet_ns // 1000) if task.wcet_ns is not None else None
    return task.kind, task.period_ns, wcet_us, task.offset_ns


def in_order(domain: Domain) -> list[str]:
    """The tasks of a domain, the most urgent first; of equals the first in the file."""
    keys = {
        "fp": lambda task: task.priority,
        "rm": lambda task: task.period_ns,
        "dm": lambda task: task.deadline_ns or task.period_ns,
        "edf": lambda task: task.deadline_ns or task.period_ns,
    }
    tasks = sorted(domain.tasks, key=keys[domain.scheduler])
    return [task.name.removeprefix(f"{domain.name}.") for task in tasks]


@pytest.mark.parametrize("name", ["flight-control", "exsched-table2", "overload"])
def test_tasks_are_there_again(tmp_path: Path, name: str) -> None:
    one = load_system(TOP / "systems" / f"{name}.toml")
    found = again(tmp_path, one)
    assert [domain.name for domain in found.domains] == [domain.name for domain in one.domains]
    for here, there in zip(one.domains, found.domains, strict=True):
        assert here.best_effort == there.best_effort
        if here.scheduler != "edf":
            assert here.each_vcpu[0].pcpu == there.each_vcpu[0].pcpu
        assert list(map(numbers, here.tasks)) == list(map(numbers, there.tasks))
        if not here.best_effort:
            assert in_order(here) == in_order(there)


def test_what_it_leaves_out_is_listed() -> None:
    task = {"name": "t", "period": 20 * MS, "wcet": 1_500_500, "jitter": MS, "deadline": 15 * MS}
    files = export_rt_app(system({"name": "a", "interface": server(5, 20), "task": [task]}))
    readme = str(files["README.md"])
    for word in ("servers", "jitter", "deadlines", "microseconds"):
        assert f"\n- {word}" in readme or word in readme.partition("out\n")[2]
    assert "blocking" not in readme


@pytest.mark.parametrize(
    ("task", "key"),
    [
        ({"period": 20 * MS + 1}, "domain[0].task[0].period"),
        ({"offset": 1}, "domain[0].task[0].offset"),
        ({"kind": "event"}, "domain[0].task[0].kind"),
    ],
)
def test_what_threads_cannot_do_is_refused(task: dict[str, Any], key: str) -> None:
    whole = {"name": "t", "period": 20 * MS, "wcet": MS} | task
    one = system({"name": "a", "interface": server(5, 20), "task": [whole]})
    with pytest.raises(InputError) as caught:
        export_rt_app(one)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("one", "key"),
    [
        (
            system(
                {"name": "a", "interface": server(5, 20), "task": [TASK | {"name": "b.c"}]},
                {"name": "a.b", "interface": server(5, 20), "task": [TASK | {"name": "c"}]},
            ),
            "domain[1].task[0].name",
        ),
        (
            system(
                {"name": "a", "interface": server(5, 20), "task": [{"name": "t", "kind": "busy"}]}
            ),
            "domain[0].task[0].kind",
        ),
        (
            system(
                {
                    "name": "a",
                    "scheduler": "edf",
                    "interface": server(5, 20),
                    "task": [TASK | {"deadline": 40 * MS}],
                }
            ),
            "domain[0].task[0]",
        ),
    ],
)
def test_what_would_be_another_workload_is_refused(one: System, key: str) -> None:
    with pytest.raises(InputError) as caught:
        export_rt_app(one)
    assert caught.value.key == key


def test_flows_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        export_rt_app(load_system(TOP / "systems" / "packet-path.toml"))
    assert caught.value.key == "flow"
