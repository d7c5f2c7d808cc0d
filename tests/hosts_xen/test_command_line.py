# SPDX-License-Identifier: BSD-2-Clause
"""Command lines: what they say, and that nothing in them is too long for Xen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.guests import guest_words, task_ranks
from hyperperiod.hosts.xen import command_line
from hyperperiod.hosts.xen.devicetree import ARGUMENTS_LIMIT
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    Overrun,
    Scheduler,
    System,
    Task,
    load_system,
    parse_policy,
    vcpus_of,
)
from hyperperiod.runs import complete

SYSTEMS = Path(__file__).parents[2] / "systems"

TASK = [{"name": "t", "period": "20ms", "wcet": "3ms", "etf": 0.5}]


def system(policy: str = "ptps", **more: Any) -> System:
    domains = [
        {
            "name": "a",
            "interface": {"period": "10ms", "budget": "2.5ms"},
            "task": TASK,
        },
        {
            "name": "b",
            "vcpus": 2,
            "interface": {"period": "5ms", "budget": "1ms"},
            "extra": True,
            "task": TASK,
        },
        {"name": "c", "best_effort": True},
    ]
    return System.of({"name": "s", "policy": policy, "domain": domains, **more})


def test_items_are_what_the_system_says() -> None:
    swaps: dict[str, Any] = {
        "swap": [{"at": "1s", "policy": "crps"}, {"at": "4s", "policy": "periodic+edf+lend"}]
    }
    change: dict[str, Any] = {
        "change": [{"at": "3s", "domain": "b", "interface": {"period": "20ms", "budget": "8ms"}}]
    }
    one = system(quantum="500us", **swaps, **change)
    assert command_line.items(one) == [
        "policy=ptps",
        "quantum=500us",
        "d1=10ms:2500us:p1",
        "d2=5ms:1ms:p0:extra",
        "d3=best-effort",
    ]
    assert command_line.events(one) == [
        "swap=1s:crps",
        "change=3s:d2:20ms:8ms:p2:extra",
        "swap=4s:periodic+edf+lend",
    ]


def test_weights_are_said() -> None:
    domains = [
        {"name": "a", "interface": {"period": "10ms", "budget": "2ms"}, "task": TASK},
        {"name": "b", "weight": 2, "task": TASK},
        {"name": "c", "best_effort": True, "weight": 300},
    ]
    found = complete(Analysis(System.of({"name": "s", "policy": "sedf", "domain": domains})))
    assert command_line.items(found) == [
        "policy=sedf", "d1=10ms:2ms:p0", "d2=100ms:75ms:p1", "d3=best-effort:w300",
    ]  # fmt: skip


def test_pins_are_said_where_there_is_a_choice() -> None:
    domains = [
        {"name": "a", "pcpu": 1, "interface": {"period": "10ms", "budget": "2ms"}, "task": TASK},
        {"name": "c", "pcpu": 0, "best_effort": True},
    ]
    pinned = System.of({"name": "s", "policy": "ptps", "pcpus": 2, "domain": domains})
    assert command_line.items(pinned) == [
        "policy=ptps",
        "d1=10ms:2ms:p0:cpu1",
        "d2=best-effort:cpu0",
    ]


def test_scope_is_said_where_the_name_does_not() -> None:
    listed = command_line.items(complete(Analysis(system("deferrable+edf+none+global", pcpus=2))))
    assert listed[:2] == ["policy=deferrable+edf+none", "scope=global"]
    assert not any("cpu" in item for item in listed)
    assert "scope=global" not in command_line.items(complete(Analysis(system("rtds"))))


def test_a_spare_of_nothing_is_a_spare_still() -> None:
    """Xen refuses a policy with a spare if there is none at all."""
    full = System.of(
        {
            "name": "s",
            "policy": "ertds",
            "domain": [
                {"name": "a", "interface": {"period": "10ms", "budget": "10ms"}, "task": TASK}
            ],
        }
    )
    assert any(item.startswith("spare=") for item in command_line.items(complete(Analysis(full))))


def test_options_fit_into_what_xen_keeps() -> None:
    listed = [f"d{number}=100ms:{number}ms:p{number}" for number in range(1, 65)]
    lines = command_line.options("hyperperiod=", listed)
    assert max(map(len, lines)) <= command_line.OPTION_LIMIT
    assert all(line.startswith("hyperperiod=") for line in lines)
    said = [item for line in lines for item in line.removeprefix("hyperperiod=").split(",")]
    assert said == listed


def test_when_a_run_begins_and_what_changes_on_the_way_is_said_to_tests_alone() -> None:
    """A system's own options are read by every Xen with the scheduler, its script by few."""
    one = system(swap=[{"at": "1s", "policy": "crps"}])
    line = command_line.xen_arguments(one, epoch_ns=10**9, horizon_ns=10**10, ring_bytes=1 << 16)
    assert line.split() == [
        "sched=hyperperiod",
        "hyperperiod=policy=ptps,d1=10ms:2500us:p1,d2=5ms:1ms:p0:extra,d3=best-effort,ring=64k",
        "hyperperiod-test=swap=1s:crps,epoch=1s,horizon=10s",
    ]


# Those without pcpus run only once they are fitted.
FITTED = [path for path in sorted(SYSTEMS.glob("*.toml")) if not path.stem.endswith("-unfitted")]

# Budgets of 2 and 3 us, as a proof or a paper has them: less than Xen takes to end one.
TOO_SHORT = {f"late-packets-{one}" for one in ("psedf", "sedf", "sedf-prime")} | {"ertds-example3"}


@pytest.mark.parametrize("path", FITTED, ids=lambda path: path.stem)
def test_every_example_has_a_command_line(path: Path) -> None:
    found = complete(Analysis(load_system(str(path))))
    if path.stem in TOO_SHORT:
        with pytest.raises(InputError, match=r"found (2|3|24)us; allowed: at least"):
            command_line.xen_arguments(found, epoch_ns=10**8)
        return
    line = command_line.xen_arguments(found, epoch_ns=10**8, horizon_ns=10**10, ring_bytes=1 << 22)
    options = line.split()
    assert options[0] == "sched=hyperperiod"
    assert max(map(len, options)) <= command_line.OPTION_LIMIT
    assert "ring=4M" in line.partition(" hyperperiod-test=")[0]
    assert line.count("=best-effort") == sum(vcpu.best_effort for vcpu in vcpus_of(found))


def test_a_guest_is_told_its_tasks() -> None:
    words = guest_words(
        system(), 0, epoch_ns=150_000_000, horizon_ns=10**9, seed=7, memory_bytes=8 << 20
    )
    assert words == [
        "workload=tasks",
        "domain=0",
        "vcpus=1",
        "scheduler=rm",
        "epoch=9375000",
        "horizon=1000000000",
        "seed=7",
        "memory=8388608",
        "rate=1000",
        "task=p:20000000:3000000:1500000:20000000:0:0:0:-",
    ]


@pytest.mark.parametrize(
    ("scheduler", "told"), [("gedf", "edf"), ("grm", "rm"), ("gdm", "dm"), ("gfp", "fp")]
)
def test_a_global_guest_is_told_an_order_and_no_vcpu(scheduler: str, told: str) -> None:
    moving = Domain(
        name="a",
        scheduler=Scheduler(scheduler),
        vcpus=2,
        interface=Interface(period_ns=10**7, budget_ns=10**7),
        tasks=(
            Task(name="t", period_ns=10**7, wcet_ns=10**6, priority=5 * (told == "fp") or None),
        ),
    )
    one = System(name="s", policy=parse_policy("ptps"), domains=(moving,))
    command_line.refuse(one)
    words = guest_words(one, 0, epoch_ns=0, horizon_ns=10**9, seed=7, memory_bytes=8 << 20)
    assert f"scheduler={told}" in words
    assert words[-1] == "task=p:10000000:1000000:1000000:10000000:0:0:0:-"
    part = moving.replace(interface=Interface(period_ns=10**7, budget_ns=10**7 - 1))
    with pytest.raises(InputError, match=r"a\.0 without a budget of its whole period"):
        command_line.refuse(one.replace(domains=(part,)))


def test_an_overrun_is_told_after_the_tasks() -> None:
    one = system()
    name = f"{one.domains[0].name}.{one.domains[0].tasks[0].name}"
    overrun = Overrun(task=name, factor=1.5, from_ns="1ms", every=4)
    words = guest_words(
        one.replace(overruns=(overrun,)),
        0,
        epoch_ns=0,
        horizon_ns=10**9,
        seed=7,
        memory_bytes=8 << 20,
    )
    assert words[-1] == "overrun=0:1500:1000000:-:4"


def test_a_hog_is_a_busy_task_without_end() -> None:
    words = guest_words(system(), 2, epoch_ns=0, horizon_ns=10**9, seed=7, memory_bytes=8 << 20)
    assert words[-1] == "task=b:0:0:0:0:0:0:0:0"


@pytest.mark.parametrize(
    ("scheduler", "ranks"),
    [("rm", [2, 0, 3, 1]), ("dm", [1, 3, 2, 0]), ("edf", [0, 1, 2, 3])],
)
def test_ranks_are_the_order_of_the_scheduler(scheduler: str, ranks: list[int]) -> None:
    tasks = [
        {"name": "a", "period": "20ms", "deadline": "5ms", "wcet": "1ms"},
        {"name": "b", "period": "10ms", "wcet": "1ms"},
        {"name": "c", "period": "30ms", "deadline": "9ms", "wcet": "1ms"},
        {"name": "d", "period": "10ms", "deadline": "2ms", "wcet": "1ms"},
    ]
    domain = {
        "name": "a",
        "scheduler": scheduler,
        "interface": {"period": "10ms", "budget": "9ms"},
        "task": tasks,
    }
    found = System.of({"name": "s", "policy": "ptps", "domain": [domain]})
    assert task_ranks(found.domains[0]) == ranks


def test_what_has_no_room_comes_as_a_text() -> None:
    words = [f"task={number:03}" for number in range(300)]
    line, rest = command_line.split_words(words)
    assert len(line) <= ARGUMENTS_LIMIT < len(line) + len(words[0]) + 1
    assert rest is not None
    assert line.split() + rest.decode().split() == words
    assert command_line.split_words(words[:10]) == (" ".join(words[:10]), None)


def test_times_are_exact() -> None:
    assert [command_line.exact_time(time_ns) for time_ns in (0, 1, 1500, 10**6, 90 * 10**9)] == [
        "0s",
        "1ns",
        "1500ns",
        "1ms",
        "90s",
    ]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"pcpus": 16}, "pcpus: found 16; allowed: at most 8"),
        ({"domains": 33}, "domain: found 33; allowed: at most 32"),
        ({"vcpus": 17}, "a: vcpus: found 17; allowed: at most 16"),
        ({"domains": 5, "vcpus": 16}, "domain: vcpus: found 80; allowed: at most 64"),
        ({"tasks": 257}, "a: task: found 257; allowed: at most 256"),
    ],
)
def test_too_much_of_anything_is_refused(more: dict[str, int], found: str) -> None:
    many = [
        {
            "name": f"d{number}" if number else "a",
            "pcpu": 0,
            "vcpus": more.get("vcpus", 1),
            "interface": {"period": "10ms", "budget": "1us"},
            "task": [
                {"name": f"t{task}", "period": "10ms", "wcet": "1us"}
                for task in range(more.get("tasks", 1))
            ],
        }
        for number in range(more.get("domains", 1))
    ]
    large = System.of(
        {"name": "s", "policy": "ptps", "pcpus": more.get("pcpus", 1), "domain": many}
    )
    with pytest.raises(InputError) as error:
        command_line.refuse(large)
    assert found in str(error.value)
