# SPDX-License-Identifier: BSD-2-Clause
"""Runs under schedulers that Linux has itself: what they are told of a system, what does not fit
them, what is read of the kernel's record of switches, and what a kernel does.

On a machine that counts instructions SCHED_DEADLINE, a constant bandwidth server, does what ours
does by the same rule; weights and quotas of cgroups do what their files say.
"""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.example_traces import ptps
from tests.support.exported import TASK, server
from tests.support.on_linux import need_linux

from hyperperiod import runs
from hyperperiod.cli import main
from hyperperiod.export.judged import for_stock
from hyperperiod.for_host import for_host
from hyperperiod.hosts import STOCK, Stock, machine_of, scheduler_of
from hyperperiod.hosts.linux import here, script
from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.linux.run import run
from hyperperiod.hosts.linux.stock import not_told, refuse, switches
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import FailedError, InputError, MissingError, System
from hyperperiod.model.readers.libvirt import OVERDRAWN_NS
from hyperperiod.runs import simulate
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import NONE, STOLEN, Kind, read

MS = 1_000_000
ON_LINUX = [host for host in STOCK if machine_of(host) == "linux"]
SYSTEMS = Path(__file__).parents[2] / "systems"
A = {"name": "a", "interface": server(4, 10)}
BUSY = {"task": [{"name": "t", "kind": "busy"}]}
COMMAND = {"task": [{"name": "t", "kind": "busy", "command": ["yes"]}]}
TWO: dict[str, Any] = {"vcpus": 2, "task": [TASK | {"vcpu": 0}, TASK | {"name": "u", "vcpu": 1}]}
REST = {"name": "rest", "best_effort": True, **BUSY}


def of(*domains: dict[str, Any], **more: Any) -> System:
    """A system of domains, each with a task unless it has its own."""
    listed = [{"task": [TASK]} | one for one in domains]
    return System.of({"name": "s", "policy": "crps", **more, "domain": listed})


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
    more = {"period": 2 * MS, "budget": 2 * MS - 1}
    assert 'cpu.max "2000 2000"' in begun(of(A | {"interface": more}), Stock.QUOTA)


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
        ("quota", [A | {"interface": server(1, 1.9999999)}], {}, "domain a: interface.period"),
        (
            "quota",
            [{"name": "a", "vcpus": 11, "interface": server(10, 10)}],
            {"policy": "rtds"},
            "domain a: budgets",
        ),
        (
            "quota",
            [{"name": "a", "vcpu": [{"interface": server(1, p)} for p in (5, 10)]}],
            {"pcpus": 2, "policy": "rtds"},
            "domain a: vcpu",
        ),
        ("deadline", [A | {"task": [TASK, TASK | {"name": "u"}]}], {}, "domain a: task"),
        ("deadline", [A | COMMAND], {}, "domain a: task"),
        ("deadline", [A | {"interface": server(0.01, 0.05)}], {}, "domain[0].interface.period"),
        ("deadline", [A | {"interface": server(0.005, 1)}], {}, "domain[0].interface.budget"),
        ("deadline", [A, A | {"name": "b"}, A | {"name": "c"}], {}, "budgets of the servers"),
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


def test_a_vcpu_without_a_task_is_no_thread() -> None:
    refuse(of(A | TWO | {"task": TWO["task"][:1]}, pcpus=2, policy="rtds"), Stock.DEADLINE)


@pytest.mark.parametrize(
    ("options", "key"),
    [(LinuxOptions(here=True), "--in"), (LinuxOptions(thefts=True), "--thefts")],
)
def test_what_deadline_threads_do_not_fit_is_refused(options: LinuxOptions, key: str) -> None:
    """All of a machine is set up for them, and no thread of real time comes before them."""
    assert options.under("linux-quota").scheduler is Stock.QUOTA
    with pytest.raises(InputError) as caught:
        options.under("linux-deadline")
    assert caught.value.key == key


def test_no_controller_of_cgroups_is_missed_in_a_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here, "CGROUPS", tmp_path)
    with pytest.raises(MissingError, match="--in vm"):
        here.require_cgroups()
    (tmp_path / here.CONTROLLERS).touch()
    here.require_cgroups()
    (tmp_path / "cgroup.type").touch()
    with pytest.raises(MissingError, match="not the root"):
        here.require_cgroups()


def test_what_is_not_told_is_said() -> None:
    assert not not_told(of(A, REST), Stock.EEVDF)
    ranked = A | {"scheduler": "dm", "task": [TASK, TASK | {"name": "u"}]}
    one = of(ranked, A | {"name": "b", "pcpu": 1}, pcpus=2, quantum=MS, policy="cbs")
    assert not_told(one, Stock.QUOTA) == (
        "linux-quota is not told who comes first in a (dm), which pcpu a vcpu is on, the quantum"
    )


COSTS: Any = {"overheads": "none", "margin": None, "grid_ns": None}


def test_interfaces_are_those_under_our_scheduler() -> None:
    """Those of SCHED_DEADLINE, too, which is judged as another policy."""
    open_ones = [{"name": name, "task": [TASK]} for name in "ab"]
    one = of(*open_ones, policy="ptps")
    ours = for_host(one, "linux", **COSTS).system
    for host in ON_LINUX:
        ready = for_stock(one, host, **COSTS)
        assert ready.system == ours
    assert str(ready.judged.system.policy) == "cbs"


def test_a_swap_is_refused_by_the_name_of_the_host() -> None:
    for host in ON_LINUX:
        with pytest.raises(InputError) as caught:
            for_stock(of(A, swap=[{"at": MS, "policy": "ptps"}]), host, **COSTS)
        assert caught.value.found == f"1 of them on {host}"


def test_only_of_deadline_threads_is_anything_proved() -> None:
    one = of(A | {"interface": server(8, 10)}, policy="cbs")
    found = {host: for_stock(one, host, **COSTS).verdict for host in ON_LINUX}
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
    """Threads are called like their vcpus and come of the process of their domain, as those of a
    command come of its supervisor; whoever else has the name of a vcpu is nobody."""
    one = of(A, REST | COMMAND)
    text = [
        "# tracer: nop\n", forked(6, 7), switched(2, -5, "d0.0", 7), forked(20, 21),
        forked(21, 22), forked(30, 31), switched(3, 0.5, "d0.0", 7), switched(2, 1, "yes", 22),
        switched(2, 2.5, "kworker/2", 31), switched(2, 2.75, "d0.0", 32),
        switched(2, 3, "swapper/2", 0),
    ]  # fmt: skip
    files = {"begun": b"1000000000 2", "process0": b"6\n", "supervisor1": b"20\n"}
    records = switches(one, files | {"switches": "".join(text).encode()}).records
    rows = zip(records["time_ns"].tolist(), records["kind"].tolist(), records["vcpu"].tolist(),
               records["flags"].tolist(), strict=True)  # fmt: skip
    assert list(rows) == [
        (0, Kind.RUN, 0, 0),
        (1 * MS, Kind.RUN, 1, 0),
        (int(2.5 * MS), Kind.IDLE, NONE, STOLEN),
        (int(2.75 * MS), Kind.IDLE, NONE, STOLEN),
        (3 * MS, Kind.IDLE, NONE, 0),
    ]
    assert set(records["pcpu"].tolist()) == {0}
    lost = b"CPU:2 [LOST 5 EVENTS]\n"
    with pytest.raises(FailedError, match="lost switches"):
        switches(one, files | {"switches": "".join(text).encode() + lost})
    for name in ("process0", "supervisor1"):  # as a container counts them
        with pytest.raises(FailedError, match="has no thread of process 9 of the run"):
            switches(one, files | {"switches": "".join(text).encode(), name: b"9\n"})


def test_a_trace_of_another_scheduler_is_not_checked(tmp_path: Path) -> None:
    """Its properties are about the rules of ours."""
    script, path = ptps(), tmp_path / "own.hpt"
    assert check_file(script.write(path)).ok
    script.header |= {"policy": "rtds", "host": "xen-rtds"}
    with pytest.raises(InputError, match="found rtds, a scheduler of the host's own"):
        check_file(script.write(path))


def test_a_host_that_there_is_not_is_named() -> None:
    done = CliRunner().invoke(main, ["compare", "s.toml", "--hosts", "sim,linux-eevfd"])
    assert done.exit_code == 2
    assert "allowed: sim, xen, linux, linux-eevdf" in done.stderr
    assert "did you mean linux-eevdf?" in done.stderr


HUNGRY_FILE = str(SYSTEMS / "hungry-neighbours.toml")


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on Linux happen on a machine that is not booted, in a folder of the test's own."""

    def run_there(
        one: System, horizon_ns: int, seed: int, trace_path: Path | None, *_: Any, **more: Any
    ) -> RunResult:
        stock = more["options"].scheduler
        host = f"linux-{stock}" if stock else "linux"
        result = simulate(one, horizon_ns, seed, trace_path)
        return result.replace(host=host, policy=str(stock or one.policy))

    monkeypatch.setattr(here, "lacks", lambda: "no sched_ext")
    monkeypatch.setattr(runs, "run_on_linux", run_there)
    monkeypatch.chdir(tmp_path)


def invoked(*words: str) -> Result:
    return CliRunner().invoke(main, words, catch_exceptions=False)


@pytest.mark.usefixtures("simulated")
def test_what_is_proved_of_each_stands_beside_what_was_measured() -> None:
    """A verdict on each policy of ours, and one on a scheduler that knows none of these."""
    words = ["--hosts", "linux,linux-eevdf", "--policies", "crps,cbs", "--horizon", "100ms"]
    done = invoked("compare", HUNGRY_FILE, *words)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines[:3]] == [
        "hungry-neighbours under crps on linux",
        "hungry-neighbours under eevdf on linux-eevdf",
        "hungry-neighbours under cbs on linux",
    ]
    unknown = "unknown (not proved: control.loop, camera.picture)"
    assert lines[-3:] == [
        "crps on linux: schedulable with its overheads? yes",
        "eevdf on linux-eevdf: schedulable with its overheads? unknown",
        f"cbs on linux: schedulable with its overheads? {unknown}",
    ]


@pytest.mark.usefixtures("simulated")
def test_nothing_is_said_to_be_proved_before_a_comparison_of_others_alone() -> None:
    done = invoked("compare", HUNGRY_FILE, "--hosts", "linux-eevdf", "--horizon", "50ms")
    assert "schedulable with them? unknown" in done.stderr
    assert "yes" not in done.stderr + done.stdout


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize("host", ON_LINUX)
def test_a_page_promises_nothing_that_is_not_proved(host: str) -> None:
    done = invoked("run", HUNGRY_FILE, "--on", host, "--horizon", "50ms", "--report", "page.html")
    assert done.exit_code == 0
    page = Path("page.html").read_text()
    said = re.sub(
        r"\s+", " ", re.sub(r"<[^>]*>", " ", page.split("</style>")[1].split("<script")[0])
    )
    assert f"policy {host.removeprefix('linux-')} host {host}" in said
    assert "crps" not in said
    if host != "linux-deadline":
        assert "Analysis: not decided No test decides this system" in said
        assert f"Why: nothing is proved of {host}" in said
        assert "Analysis: schedulable" not in said
        assert ">yes<" not in page


@pytest.mark.usefixtures("simulated")
def test_a_limit_on_servers_is_refused_where_there_are_none() -> None:
    for words in (["run", HUNGRY_FILE, "--on"], ["compare", HUNGRY_FILE, "--hosts"]):
        done = invoked(*words, "linux-quota", "--fail-on", "short>0")
        assert done.exit_code == 2
        assert "'short>0'; allowed: a limit on tasks or flows: linux-quota has no" in done.stderr


# Periods differ, so that no order hangs on deadlines that are the same but for a microsecond.
HUNGRY: list[dict[str, Any]] = [
    {"name": "control", "interface": server(4, 10),
     "task": [{"name": "loop", "period": 20 * MS, "wcet": 3 * MS}]},
    {"name": "camera", "interface": server(7.5, 25),
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
    found = {scheduler_of(host): on(host, tmp_path) for host in ON_LINUX}
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
    # A window touches one period more than it has, and a quota may be overdrawn at its end.
    most_ns = 0.15 * HORIZON_NS + 3 * MS + OVERDRAWN_NS
    assert 0.15 * HORIZON_NS - 5 * MS < batch[1] <= most_ns
    assert batch[2] > 0.4 * HORIZON_NS
    assert found["eevdf"].domains[3].supply_ns < 0.02 * HORIZON_NS


PATH: list[dict[str, Any]] = [
    {"name": "in", "interface": server(4, 10),
     "task": [{"name": "get", "kind": "event", "period": 10 * MS, "wcet": MS}]},
    {"name": "out", "interface": server(4, 10),
     "task": [{"name": "put", "kind": "event", "period": 10 * MS, "wcet": MS}]},
    REST,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("host", ON_LINUX)
def test_items_go_through_domains_on_several_cpus(tmp_path: Path, host: str) -> None:
    need_linux()
    source = {"period": 10 * MS}
    flow = {"name": "f", "source": source, "hops": ["in.get", "out.put"], "deadline": 10 * MS}
    one = of(*PATH, pcpus=2, policy="cbs+edf+none+global", flow=[flow])
    options = LinuxOptions(folder=tmp_path).under(host)
    result = run(RunRequest(one, HORIZON_NS, 3, tmp_path / "run.hpt"), options=options)
    (passed,) = result.flows
    assert passed.items == HORIZON_NS // (10 * MS)
    assert passed.finished > 0
    assert [pcpu.id for pcpu in result.pcpus] == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("host", ["linux", "linux-eevdf"])
def test_no_deadline_is_missed_by_ctrl_c(tmp_path: Path, host: str) -> None:
    """Nor in what is still recorded when the threads are gone."""
    need_linux()
    task = {"name": "t", "period": 2 * MS, "wcet": MS // 10}
    sent: list[int] = []

    def progress(now_ns: int) -> None:
        if now_ns >= 1000 * MS and not sent:
            sent.append(now_ns)
            signal.raise_signal(signal.SIGINT)

    one = of({"name": "a", "interface": server(1, 2), "task": [task]}, policy="cbs")
    request = RunRequest(one, 60_000 * MS, 1, tmp_path / "run.hpt")
    result = run(request, progress, LinuxOptions(folder=tmp_path).under(host))
    assert result.interrupted
    assert 100 * MS < result.horizon_ns < 60_000 * MS
    (seen,) = result.tasks
    assert seen.jobs >= result.horizon_ns // (2 * MS)
    assert seen.misses == 0
