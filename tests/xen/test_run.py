# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod run --on xen`: the same result object as the simulator's, from real Xen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.xen_images import guest, image

from hyperperiod.cli import main
from hyperperiod.hosts import rings
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.watched import LOOK_EVERY_S
from hyperperiod.hosts.xen.images import executive, hypervisor, lockstep
from hyperperiod.hosts.xen.machine import Guest, XenMachine, boot
from hyperperiod.hosts.xen.plan import XenOptions, plan
from hyperperiod.hosts.xen.run import BusyError
from hyperperiod.model import FailedError, MissingError, System, load_system
from hyperperiod.runs import run_on_xen, simulate
from hyperperiod.trace.format import Call, is_interrupted, read
from hyperperiod.trace.properties import Status, check_all

SYSTEMS = Path(__file__).parents[2] / "systems"
MS = 1_000_000

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-system-aarch64") is None or shutil.which("dtc") is None,
    reason="qemu-system-aarch64 or dtc is not installed; apt-get install qemu-system-arm"
    " device-tree-compiler",
)


@pytest.fixture(autouse=True, scope="module")
def built() -> None:
    image("arm64")
    guest()


def keys(result: Any) -> Any:
    """The form of a result object: all keys, at any depth."""
    if isinstance(result, dict):
        return {key: keys(value) for key, value in sorted(result.items())}
    return [keys(value) for value in result] if isinstance(result, list) else None


def test_the_result_is_the_simulator_s_and_the_numbers_nearly(tmp_path: Path) -> None:
    system = load_system(str(SYSTEMS / "flight-control.toml"))
    horizon_ns = 400 * MS
    predicted = simulate(system, horizon_ns)
    measured = run_on_xen(system, horizon_ns, trace_path=tmp_path / "run.hpt")
    assert keys(measured.to_dict()) == keys(predicted.to_dict())
    assert (measured.host, measured.horizon_ns) == ("xen", horizon_ns)
    for one, other in zip(measured.tasks, predicted.tasks, strict=True):
        assert one.replace(response_ns=None) == other.replace(response_ns=None)
        if one.response_ns is not None and other.response_ns is not None:
            # Some microseconds for each switch on the way.
            gap_ns = one.response_ns.max - other.response_ns.max
            assert 0 < gap_ns < 200_000
    header, records = read(tmp_path / "run.hpt")
    assert not is_interrupted(header, records)
    assert header.get("lateness_ns", 0) < 20_000
    found = check_all(header, records)
    assert [one for one in found if one.status is Status.FAILS] == []
    # Nothing is said of spare, shares and jobs that move: there are none.
    assert sum(one.status is Status.HOLDS for one in found) == len(found) - 3


def tasks(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [task for domain in result["domains"] for task in domain["tasks"]]


def test_a_run_is_the_same_every_time_whoever_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = load_system(str(SYSTEMS / "brake-by-wire.toml"))
    found = set()
    for number, every_s in enumerate((LOOK_EVERY_S, 0.004)):
        monkeypatch.setattr("hyperperiod.hosts.watched.LOOK_EVERY_S", every_s)
        folder = tmp_path / str(number)
        seen: list[int] = []
        result = run_on_xen(
            system,
            250 * MS,
            trace_path=folder.with_suffix(".hpt"),
            progress=seen.append,
            options=XenOptions(folder=folder),
        )
        assert seen == sorted(seen)
        found.add(
            (
                result.to_json(),
                folder.with_suffix(".hpt").read_bytes(),
                (folder / "console.log").read_bytes(),
            )
        )
    assert len(found) == 1


def test_swaps_and_changes_happen_on_the_way(tmp_path: Path) -> None:
    domains = [
        {
            "name": name,
            "interface": {"period": period, "budget": budget},
            "task": [{"name": "t", "period": period, "wcet": wcet}],
        }
        for name, period, budget, wcet in (("a", "10ms", "3ms", "2ms"), ("b", "20ms", "6ms", "5ms"))
    ]
    system = System.of(
        {
            "name": "swapping",
            "policy": "ptps",
            "domain": domains,
            "swap": [
                {"at": f"{at}ms", "policy": policy}
                for at, policy in ((41, "wcps"), (82, "ds"), (123, "sporadic"), (164, "cbs"))
            ],
            "change": [
                {"at": "95ms", "domain": "b", "interface": {"period": "10ms", "budget": "4ms"}}
            ],
        }
    )
    result = run_on_xen(system, 240 * MS, trace_path=tmp_path / "run.hpt")
    assert sum(task.misses for task in result.tasks) == 0
    header, records = read(tmp_path / "run.hpt")
    assert [one for one in check_all(header, records) if one.status is Status.FAILS] == []
    assert int((records["kind"] == 12).sum()) == 4


def test_tasks_that_do_not_fit_into_the_device_tree() -> None:
    many = [
        {"name": f"t{number}", "period": "40ms", "wcet": "300us", "offset": f"{number}us"}
        for number in range(40)
    ]
    domain = {"name": "a", "interface": {"period": "10ms", "budget": "9ms"}, "task": many}
    system = System.of({"name": "many", "policy": "ptps", "domain": [domain]})
    result = run_on_xen(system, 100 * MS)
    assert [task.jobs for task in result.tasks] == [3] * 40


def test_a_domain_without_time_misses_its_deadlines_all_the_same(tmp_path: Path) -> None:
    text = """
        name = "starved"
        policy = "ptps"
        [[domain]]
        name = "greedy"
        interface = { period = "10ms", budget = "10ms" }
        [[domain.task]]
        name = "all"
        kind = "busy"
        offset = "1001ns"
        [[domain]]
        name = "rest"
        best_effort = true
        [[domain.task]]
        name = "hopes"
        period = "20ms"
        wcet = "1ms"
        offset = "5ms"
        jitter = "3ms"
    """
    (tmp_path / "starved.toml").write_text(text)
    system = load_system(str(tmp_path / "starved.toml"))
    predicted = simulate(system, 100 * MS, 3)
    measured = run_on_xen(system, 100 * MS, 3, tmp_path / "run.hpt")
    assert measured.tasks == predicted.tasks
    assert measured.tasks[1].misses > 2
    header, records = read(tmp_path / "run.hpt")
    assert [one for one in check_all(header, records) if one.status is Status.FAILS] == []


def two_pcpus() -> System:
    domains = [
        {
            "name": f"d{number}",
            "interface": {"period": "20ms", "budget": "8ms"},
            "task": [{"name": "t", "period": "20ms", "wcet": "2ms"}],
        }
        for number in range(3)
    ]
    return System.of({"name": "two", "policy": "rtds", "pcpus": 2, "domain": domains})


def test_several_pcpus_in_threads_are_real_and_marked(tmp_path: Path) -> None:
    options = XenOptions(icount=False)
    try:
        result = run_on_xen(two_pcpus(), 200 * MS, trace_path=tmp_path / "run.hpt", options=options)
    except BusyError as error:
        pytest.skip(str(error))
    assert result.timing == "host"
    assert len(result.pcpus) == 2
    assert [task.jobs for task in result.tasks] == [10] * 3
    assert all(domain.supply_ns > 0 for domain in result.domains)
    header, _ = read(tmp_path / "run.hpt")
    assert header["pcpus"] == 2


def test_without_what_keeps_pcpus_in_step_they_are_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plan(RunRequest(two_pcpus(), MS), XenOptions()).icount
    for name in ("xen/arm64/xen", "guests/executive.bin"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("HYPERPERIOD_BUILD", str(tmp_path))
    assert not plan(RunRequest(two_pcpus(), MS), XenOptions()).icount
    with pytest.raises(MissingError, match="hyperperiod xen build lockstep"):
        lockstep()


def test_the_command_leaves_everything_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_in = str(hypervisor().parents[2])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYPERPERIOD_BUILD", built_in)
    arguments = [
        "--on",
        "xen",
        "--horizon",
        "60ms",
        "--json",
        "--trace",
        "t.hpt",
        "--report",
        "r.html",
    ]
    done = CliRunner().invoke(main, ["run", str(SYSTEMS / "hot-swap.toml"), *arguments])
    assert done.exit_code == 0, done.stderr
    folder = tmp_path / "out" / "hot-swap-xen"
    assert json.loads(done.stdout) == json.loads((folder / "result.json").read_text())
    assert (folder / "run.hpt").read_bytes() == (tmp_path / "t.hpt").read_bytes()
    assert "horizon reached" in (folder / "console.log").read_text()
    assert (
        "on xen" in (tmp_path / "r.html").read_text() or "xen" in (tmp_path / "r.html").read_text()
    )


def test_prediction_beside_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERPERIOD_BUILD", str(hypervisor().parents[2]))
    monkeypatch.chdir(tmp_path)
    arguments = ["--hosts", "sim,xen", "--horizon", "60ms", "--json", "--report", "both.html"]
    done = CliRunner().invoke(main, ["compare", str(SYSTEMS / "hot-swap.toml"), *arguments])
    assert done.exit_code == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert [result["host"] for result in results] == ["sim", "xen"]
    assert keys(results[0]) == keys(results[1])
    assert "the largest difference is that of" in (tmp_path / "both.html").read_text()


def test_ctrl_c_gives_what_was_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes while the machine is looked at, somewhere after 50 ms of the run."""

    @contextlib.contextmanager
    def impatient(_title: str, _total_ns: int) -> Iterator[Callable[[int], None]]:
        sent: list[int] = []

        def progress(now_ns: int) -> None:
            if now_ns > 50 * MS and not sent:
                sent.append(now_ns)
                signal.raise_signal(signal.SIGINT)

        yield progress

    monkeypatch.setattr("hyperperiod.cli.execute.bar", impatient)
    monkeypatch.setenv("HYPERPERIOD_BUILD", str(hypervisor().parents[2]))
    monkeypatch.chdir(tmp_path)
    arguments = ["--on", "xen", "--horizon", "1000s", "--json", "--trace", "t.hpt"]
    done = CliRunner().invoke(main, ["run", str(SYSTEMS / "flight-control.toml"), *arguments])
    assert done.exit_code == 130, done.stderr
    result = json.loads(done.stdout)
    assert result["interrupted"]
    assert 50 * MS < result["horizon_ns"] < 1000 * 10**9
    assert all(task["jobs"] > 0 for task in tasks(result))
    header, records = read(tmp_path / "t.hpt")
    assert [one for one in check_all(header, records) if one.status is Status.FAILS] == []


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_killed_run_leaves_no_machine(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hyperperiod", "run", str(SYSTEMS / "overload.toml"), "--on", "xen"],
        cwd=tmp_path,
        env={**os.environ, "HYPERPERIOD_BUILD": str(hypervisor().parents[2])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    eventually((tmp_path / "out" / "overload-xen" / "console.log").exists)
    (machine,) = children(process.pid)
    process.kill()
    process.wait()
    eventually(lambda: is_gone(machine))


def is_gone(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def eventually(happens: Callable[[], object]) -> None:
    """Waits for what must come, a minute at most."""
    until = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_what_xen_does_not_understand_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "hyperperiod.hosts.xen.command_line.items", lambda _system: ["policy=nonsense"]
    )
    with pytest.raises(FailedError, match="Xen or a guest does not run this") as error:
        run_on_xen(load_system(str(SYSTEMS / "overload.toml")), 20 * MS)
    assert "nonsense" in error.value.log


def spinning() -> Guest:
    """Returns a guest that always wants to run."""
    return Guest(executive(), "workload=spin domain=0 memory=8388608", 8 << 20)


def said_by_the_scheduler(console: str) -> list[str]:
    """Returns what it has said on the console, but for where its rings are."""
    said = re.findall(r"\(XEN\) hyperperiod: (.*?)\r?$", console, re.MULTILINE)
    return [line for line in said if not line.startswith("ring of pcpu")]


def test_each_item_that_xen_does_not_understand_is_named(tmp_path: Path) -> None:
    server = "dN[.V]=PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra] or dN=best-effort[:cpuN][:wWEIGHT]"
    names = "policy, scope, quantum, spare, ring or dN[.V]"
    policy = "a name (ptps, wcps, crps, rtds, ...) or BUDGET+ORDER+SLACK[+SCOPE]"
    time = "a whole number with a unit (ns, us, ms, s), such as 10ms"
    wrong = {
        "hyperperiod": {
            "ring": "a size of at most 256M",
            "ring=": "a size of at most 256M",
            "ring=4Mx": "a size of at most 256M",
            "policy": policy,
            "policy=periodic+fp": policy,
            "scope=all": "partitioned or global",
            "quantum=5": time,
            "spare=1ms:2ms": "PERIOD:BUDGET, the budget at most the period",
            "d1": server,
            "d1=10ms:5ms:cpup5": server,
            "d1=10ms:5ms:": server,
            "d1.=10ms:5ms": names,
            "epoch=1s": names,
        },
        "hyperperiod-test": {
            "epoch=1": time,
            "ring=64k": "epoch, horizon, swap, change or move",
            "swap=1s:ptpss": "TIME:POLICY",
            "change=1s:d1": "TIME:dN[.V]:PERIOD:BUDGET[:pPRIORITY]",
            "move=1s:d1:cpu": "TIME:dN[.V]:cpuN",
            "move=0s:d1:cpu0": "swaps, changes and moves in order of time",
        },
    }
    words = [f"{option}={item}" for option, items in wrong.items() for item in items]
    # What is right stands between: it is read all the same.
    words.insert(-1, "hyperperiod-test=move=1s:d1:cpu0")
    arguments = " ".join(["sched=hyperperiod", *words, "hyperperiod=ring=64k,policy=wcps"])
    machine = XenMachine(hypervisor(), arguments, (spinning(),))
    with boot(machine, tmp_path / "console.log") as running:
        running.wait_for("Freed")
        found = said_by_the_scheduler(running.console())
        assert len(running.own_rings()) == 1
    assert found == [
        f"found {item}, allowed: {allowed}"
        for items in wrong.values()
        for item, allowed in items.items()
    ]


def test_what_the_core_refuses_is_said_with_the_reason(tmp_path: Path) -> None:
    """Servers, swaps and changes are found wrong while a lock is held; said it is after that."""
    words = (
        "hyperperiod=policy=ptps,d1=10ms:5ms,d2=10us:1us",
        "hyperperiod-test=epoch=600ms,horizon=300ms",
        "hyperperiod-test=swap=100ms:slice+edf+lend,change=200ms:d1:9us:1us",
    )
    arguments = " ".join(["sched=hyperperiod", *words])
    machine = XenMachine(hypervisor(), arguments, (spinning(),) * 2)
    with boot(machine, tmp_path / "console.log") as running:
        running.wait_for("horizon reached", patience_s=300)
        found = said_by_the_scheduler(running.console())
    assert found == [
        "best effort from now on: the budget is shorter than a decision of the scheduler: d2v0",
        "swap: these rules are not built in or do not go together",
        "change: the budget is shorter than a decision of the scheduler: d1v0",
        "horizon reached",
    ]


def test_xen_spreads_servers_over_pcpus(tmp_path: Path) -> None:
    """Those without a pcpu of their own go, one after the other, where least is promised."""
    servers = "d1=10ms:5ms,d2=10ms:3ms,d3=10ms:3ms,d4=10ms:1ms,d5=10ms:1ms:cpu1,d6=10ms:2ms"
    arguments = f"sched=hyperperiod hyperperiod=policy=ptps,ring=64k,{servers}"
    machine = XenMachine(hypervisor(), arguments, (spinning(),) * 6, pcpus=2, icount=False)
    with boot(machine, tmp_path / "console.log") as running:
        running.wait_for("Freed")
        eventually(lambda: all(len(ring.records) > 100 for ring in running.own_rings()))
        running.stop()
        here = [
            set(ring.records["vcpu"][ring.records["kind"] == Call.ADD])
            for ring in running.own_rings()
        ]
    assert here == [{0, 3, 5}, {1, 2, 4}]


def test_what_a_guest_does_not_understand_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "hyperperiod.hosts.xen.plan.guest_words",
        lambda *_args, **_more: ["memory=nonsense"],
    )
    with pytest.raises(FailedError, match="does not run this system") as error:
        run_on_xen(load_system(str(SYSTEMS / "overload.toml")), 20 * MS)
    assert "nonsense" in error.value.log


def test_a_guest_that_is_late_gets_more_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hyperperiod.hosts.xen.plan.BOOT_NS", 10 * MS)
    monkeypatch.setattr("hyperperiod.hosts.xen.plan.BOOT_PER_GUEST_NS", 1)
    system = load_system(str(SYSTEMS / "overload.toml"))
    assert run_on_xen(system, 20 * MS, options=XenOptions(folder=tmp_path)).horizon_ns == 20 * MS
    assert "passed already" not in (tmp_path / "console.log").read_text()
    monkeypatch.setattr("hyperperiod.hosts.xen.plan.BOOT_NS", MS)
    with pytest.raises(FailedError, match="a guest was not ready at the epoch"):
        run_on_xen(system, 20 * MS)


def test_a_machine_that_stands_still_is_ended(tmp_path: Path) -> None:
    """One that has nothing to do and nobody who would say that the horizon is reached."""
    machine = XenMachine(hypervisor(), "", (Guest(executive(), "workload=no", 8 << 20),))
    with boot(machine, tmp_path / "console.log") as running:
        running.wait_for("Freed")
        with pytest.raises(FailedError, match="no sign of life for 2 s") as error:
            running.wait_for("horizon reached", patience_s=2)
    assert "Freed" in error.value.log


def test_memory_of_a_stopped_machine_does_not_change(tmp_path: Path) -> None:
    machine = XenMachine(
        hypervisor(),
        "guest_loglvl=all sched=hyperperiod hyperperiod=ring=64k,d1=10ms:5ms",
        (spinning(),),
    )
    with boot(machine, tmp_path / "console.log") as running:
        running.wait_for("Freed")
        addresses = rings.announced(running.console())
        assert list(addresses) == [0]
        eventually(lambda: rings.last_time(running.read, addresses[0]) is not None)
        running.stop()
        assert running.read(addresses[0], 4096) == running.read(addresses[0], 4096)
        before = rings.last_time(running.read, addresses[0]) or 0
        running.go_on()
        eventually(lambda: (rings.last_time(running.read, addresses[0]) or 0) > before)
