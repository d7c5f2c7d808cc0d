# SPDX-License-Identifier: BSD-2-Clause
"""Runs under schedulers that Linux has itself: what they are told of a system, what does not fit
them, what is read of the kernel's record of switches, and what a kernel does.

On a machine that counts instructions SCHED_DEADLINE, a constant bandwidth server, does what ours
does by the same rule; weights and quotas of cgroups do what their files say.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.example_traces import ptps
from tests.support.exported import TASK, server
from tests.support.on_linux import need_linux

from hyperperiod import runs
from hyperperiod.cli import main
from hyperperiod.export.judged import for_stock
from hyperperiod.hosts import STOCK, scheduler_of
from hyperperiod.hosts.linux import here, script
from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.linux.run import run
from hyperperiod.hosts.linux.stock import Stock, refuse, refuse_here, switches
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import FailedError, InputError, System
from hyperperiod.runs import simulate
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import NONE, STOLEN, Kind, read

MS = 1_000_000
SYSTEMS = Path(__file__).parents[2] / "systems"
A = {"name": "a", "interface": server(4, 10)}
BUSY = {"task": [{"name": "t", "kind": "busy"}]}
COMMAND = {"task": [{"name": "t", "kind": "busy", "command": ["yes"]}]}
TWO = {"vcpus": 2, "task": [TASK | {"vcpu": 0}, TASK | {"name": "u", "vcpu": 1}]}
REST = {"name": "rest", "best_effort": True, **BUSY}


def of(*domains: dict[str, Any], **more: Any) -> System:
    """A system of domains, each with a task unless it has its own."""
    listed = [{"task": [TASK]} | one for one in domains]
    return System.of({"name": "s", "policy": "crps", **more, "domain": listed})


def test_the_hosts_are_those_that_there_are() -> None:
    assert [scheduler_of(host) for host in STOCK] == list(Stock)


def begun(one: System, scheduler: Stock, cpus: range = range(1)) -> str:
    text = script.run_tasks(one, 0, 1000 * MS, {}, cpus, {}, scheduler)
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    return text


def test_weights_are_in_proportion_to_budgets() -> None:
    text = begun(of(A, A | {"name": "b"} | TWO, REST, pcpus=2), Stock.EEVDF)
    weights = [line.split()[-1] for line in text.splitlines() if "/d" in line and "weight" in line]
    assert weights == ["400", "800", "1"]
    assert "cpu.max" not in text
    assert "ask start" not in text
    assert " d0.0= &" in text
    assert " d1.0= d1.1= &" in text


def test_quotas_are_budgets_in_periods() -> None:
    text = begun(of(A, A | {"name": "b"} | TWO, REST, pcpus=2), Stock.QUOTA)
    assert [line for line in text.splitlines() if "cpu.max" in line] == [
        'set_to "$commands/d0"/cpu.max "4000 10000"',
        'set_to "$commands/d1"/cpu.max "8000 10000"',
    ]


def test_threads_have_the_budgets_of_their_vcpus() -> None:
    text = begun(of(A, REST), Stock.DEADLINE, range(2, 3))
    assert 'inside "$commands/d0" 4 tasks ' in text
    assert " d0.0=4000000/10000000 &" in text
    assert " d1.0= &" in text


@pytest.mark.parametrize(
    ("scheduler", "domains", "more", "key"),
    [
        ("quota", [A | {"interface": server(0.5, 2)}], {}, "domain a: interface.budget"),
        ("quota", [A | {"interface": server(4, 2000)}], {}, "domain a: interface.period"),
        (
            "quota",
            [{"name": "a", "vcpu": [{"interface": server(1, p)} for p in (5, 10)]}],
            {"pcpus": 2, "policy": "rtds"},
            "domain a: vcpu",
        ),
        ("deadline", [A | {"task": [TASK, TASK | {"name": "u"}]}], {}, "domain a: task"),
        ("deadline", [A | COMMAND], {}, "domain a: task"),
        ("deadline", [A | {"interface": server(0.01, 0.05)}], {}, "domain a: interface.period"),
        ("deadline", [A, A | {"name": "b"}, A | {"name": "c"}], {}, "budgets of all servers"),
        ("deadline", [A | {"pcpu": 1}], {"pcpus": 2}, "pcpus"),
        (
            "eevdf",
            [A | {"task": [*COMMAND["task"], COMMAND["task"][0] | {"name": "u"}]}],
            {},
            "domain a: command",
        ),
        ("eevdf", [A], {"swap": [{"at": MS, "policy": "ptps"}]}, "swap"),
    ],
)
def test_what_does_not_map_is_refused(
    scheduler: str, domains: list[dict[str, Any]], more: dict[str, Any], key: str
) -> None:
    with pytest.raises(InputError) as caught:
        refuse(of(*domains, **more), Stock(scheduler))
    assert caught.value.key == key
    assert caught.value.allowed.endswith(f", on linux-{scheduler}")


def test_what_is_set_up_for_a_whole_machine_is_not_done_here() -> None:
    refuse_here(of(A), Stock.QUOTA)
    with pytest.raises(InputError, match="--in: found here"):
        refuse_here(of(A), Stock.DEADLINE)


def test_only_of_deadline_threads_is_anything_proved() -> None:
    one = of(A | {"interface": server(8, 10)}, policy="cbs")
    costs: Any = {"overheads": "none", "margin": None, "grid_ns": None}
    found = {host: for_stock(one, host, **costs).verdict for host in STOCK}
    assert found == {"linux-eevdf": "unknown", "linux-quota": "unknown", "linux-deadline": "yes"}


def switched(cpu: int, ms: float, name: str, pid: int) -> str:
    return (
        f" x-1 [{cpu:03d}] d..2. {1 + ms / 1000:.6f}: sched_switch: prev_comm=x prev_pid=1"
        f" prev_prio=120 prev_state=R ==> next_comm={name} next_pid={pid} next_prio=120\n"
    )


def forked(parent: int, child: int) -> str:
    return (
        f" x-{parent} [002] d..2. 0.900000: sched_process_fork: comm=sh pid={parent}"
        f" child_comm=sh child_pid={child}\n"
    )


def test_who_ran_is_read_of_switches() -> None:
    """Threads are called like their vcpus, processes of a command come of its supervisor."""
    one = of(A, REST | COMMAND)
    text = [
        "# tracer: nop\n", switched(2, -5, "d0.0", 7), forked(20, 21), forked(21, 22),
        forked(30, 31), switched(3, 0.5, "d0.0", 7), switched(2, 1, "yes", 22),
        switched(2, 2.5, "kworker/2", 31), switched(2, 3, "swapper/2", 0),
    ]  # fmt: skip
    files = {"begun": b"1000000000 2", "supervisor1": b"20\n"}
    records = switches(one, files | {"switches": "".join(text).encode()}).records
    rows = zip(records["time_ns"].tolist(), records["kind"].tolist(), records["vcpu"].tolist(),
               records["flags"].tolist(), strict=True)  # fmt: skip
    assert list(rows) == [
        (0, Kind.RUN, 0, 0),
        (1 * MS, Kind.RUN, 1, 0),
        (int(2.5 * MS), Kind.IDLE, NONE, STOLEN),
        (3 * MS, Kind.IDLE, NONE, 0),
    ]
    assert set(records["pcpu"].tolist()) == {0}
    lost = b"CPU:2 [LOST 5 EVENTS]\n"
    with pytest.raises(FailedError, match="lost switches"):
        switches(one, files | {"switches": "".join(text).encode() + lost})


def test_a_trace_of_another_scheduler_is_not_checked(tmp_path: Path) -> None:
    """Its properties are about the rules of ours."""
    script, path = ptps(), tmp_path / "own.hpt"
    assert check_file(script.write(path)).ok
    script.header["policy"] = "eevdf"
    with pytest.raises(InputError, match="found eevdf, a scheduler of the host's own"):
        check_file(script.write(path))


def test_a_host_that_there_is_not_is_named() -> None:
    done = CliRunner().invoke(main, ["compare", "s.toml", "--hosts", "sim,linux-eevfd"])
    assert done.exit_code == 2
    assert "allowed: sim, xen, linux, linux-eevdf" in done.stderr
    assert "did you mean linux-eevdf?" in done.stderr


def test_what_is_proved_of_each_stands_beside_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that is not booted; our policies are nothing to the kernel's schedulers."""

    def simulated(one: System, horizon_ns: int, seed: int, *_: Any, **more: Any) -> RunResult:
        stock = more["options"].scheduler
        host = f"linux-{stock}" if stock else "linux"
        return simulate(one, horizon_ns, seed).replace(host=host, policy=str(stock or one.policy))

    monkeypatch.setattr(here, "lacks", lambda: "no sched_ext")
    monkeypatch.setattr(runs, "run_on_linux", simulated)
    monkeypatch.chdir(tmp_path)
    file = SYSTEMS / "hungry-neighbours.toml"
    words = ["--hosts", "linux,linux-eevdf", "--policies", "crps,ds", "--horizon", "100ms"]
    done = CliRunner().invoke(main, ["compare", str(file), *words], catch_exceptions=False)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines[:3]] == [
        "hungry-neighbours under crps on linux",
        "hungry-neighbours under eevdf on linux-eevdf",
        "hungry-neighbours under ds on linux",
    ]
    assert lines[-2:] == [
        "linux: schedulable with these overheads? yes",
        "linux-eevdf: schedulable with these overheads? unknown",
    ]


HUNGRY: list[dict[str, Any]] = [
    {"name": "control", "interface": server(4, 10),
     "task": [{"name": "loop", "period": 20 * MS, "wcet": 3 * MS}]},
    {"name": "camera", "interface": server(6, 20),
     "task": [{"name": "picture", "period": 40 * MS, "wcet": 8 * MS, "etf": 0.6}]},
    {"name": "batch", "interface": server(3, 20), **BUSY},
    REST,
]  # fmt: skip
HORIZON_NS = 400 * MS
CLOSE_NS = 60_000
SWITCH_NS = 1_000
"""What the kernel's record of a switch is rounded by."""


def on(host: str, folder: Path) -> RunResult:
    one = of(*HUNGRY, policy="cbs")
    path = folder / f"{host}.hpt"
    options = LinuxOptions(folder=folder).under(host)
    return run(RunRequest(one, HORIZON_NS, 3, path), options=options)


@pytest.mark.slow
def test_the_kernel_does_what_it_is_told(tmp_path: Path) -> None:
    """The same jobs under all, with responses as ours under SCHED_DEADLINE; a quota is kept, and by
    weights the hungry one has what is left."""
    need_linux()
    ours = on("linux", tmp_path)
    found = {scheduler_of(host): on(host, tmp_path) for host in STOCK}
    for name, result in found.items():
        assert (result.host, result.policy) == (f"linux-{name}", name)
        assert [task.jobs for task in result.tasks] == [task.jobs for task in ours.tasks]
        (pcpu,) = result.pcpus
        supplied_ns = sum(domain.supply_ns for domain in result.domains)
        assert supplied_ns == pcpu.busy_ns
        assert supplied_ns > 0.99 * HORIZON_NS
        assert read(tmp_path / f"linux-{name}.hpt")[0]["policy"] == name
    for own, kernels in zip(ours.tasks, found["deadline"].tasks, strict=True):
        if own.response_ns is not None and kernels.response_ns is not None:
            assert abs(own.response_ns.max - kernels.response_ns.max) < CLOSE_NS
            assert abs(own.response_ns.mean - kernels.response_ns.mean) < CLOSE_NS
    batch = [found[name].domains[2].supply_ns for name in ("deadline", "quota", "eevdf")]
    assert batch[0] == pytest.approx(0.15 * HORIZON_NS, rel=0.01)
    assert batch[1] == pytest.approx(0.15 * HORIZON_NS, abs=5 * MS)
    assert batch[2] > 0.4 * HORIZON_NS
    assert found["eevdf"].domains[3].supply_ns < 0.02 * HORIZON_NS
