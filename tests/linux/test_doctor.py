# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod linux doctor` over machines that are folders.

HEALTHY has all files that are read, and nothing that costs. Each case changes some of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.linux.whole import session
from tests.support.machine_files import stat, write

from hyperperiod.cli import main
from hyperperiod.hosts.linux import lateness, readings, remedies
from hyperperiod.hosts.linux.cpus import read_list, write_list
from hyperperiod.hosts.linux.obstacles import Change, Finding, Verdict, examine
from hyperperiod.hosts.linux.readings import Machine, Readings
from hyperperiod.model import InputError, MissingError

CPU = "sys/devices/system/cpu"
HUGE = "sys/kernel/mm/transparent_hugepage/enabled"
GOVERNOR = f"{CPU}/cpu2/cpufreq/scaling_governor"
IRQ = "proc/irq/24/smp_affinity_list"

HEALTHY: dict[str, str | None] = {
    "proc/sys/kernel/osrelease": "7.2.12\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz quiet\n",
    "proc/stat": "cpu  9 9 9 9 9 9 9 9\ncpu2 90 0 0 5 5 0 0 0 0 0\ncpu3 9 0 0 1 0 0 0 0\nintr 1\n",
    "proc/cpuinfo": "processor : 0\nflags : fpu tsc\n",
    "proc/swaps": "Filename Type Size Used Priority\n",
    "proc/80/comm": "sshd\n",
    "proc/80/task/81/stat": stat("a (b) c", 0),
    "proc/80/task/81/status": "Name:\ta\nCpus_allowed_list:\t0-3\n",
    "proc/sys/kernel/sched_rt_runtime_us": "950000\n",
    "proc/sys/kernel/sched_rt_period_us": "1000000\n",
    "proc/sys/kernel/watchdog": "1\n",
    "proc/sys/kernel/nmi_watchdog": "0\n",
    "proc/sys/kernel/watchdog_cpumask": "0-1\n",
    IRQ: "0-1\n",
    "proc/irq/24/effective_affinity_list": "0\n",
    "proc/irq/24/ahci/keep": "",
    "proc/irq/25/smp_affinity_list": "0-3\n",  # nobody takes it
    "sys/kernel/btf/vmlinux": "\0bpf_res_spin_lock\0scx_bpf_dsq_move_to_local\0",
    "sys/kernel/sched_ext/state": "disabled\n",
    HUGE: "always [madvise] never\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    f"{CPU}/online": "0-3\n",
    f"{CPU}/present": "0-3\n",
    f"{CPU}/cpu2/topology/thread_siblings_list": "2\n",
    GOVERNOR: "performance\n",
    f"{CPU}/cpu2/cpuidle/state0/latency": "0\n",
    f"{CPU}/cpu2/cpuidle/state0/disable": "0\n",
    f"{CPU}/cpu2/cpuidle/state1/latency": "133\n",
    f"{CPU}/cpu2/cpuidle/state1/name": "C6\n",
    f"{CPU}/cpu2/cpuidle/state1/disable": "1\n",
    f"{CPU}/cpu3/cpufreq/scaling_governor": "performance\n",
    "run/keep": "",
}
CASES: dict[str, tuple[str, str, str, dict[str, str | None]]] = {
    "none": ("sched_ext", "refused", "7.2.12 has none", {"sys/kernel/sched_ext/state": None}),
    "no types": ("functions", "refused", "/sys/kernel/btf", {"sys/kernel/btf/vmlinux": None}),
    "old": (
        *("functions", "refused", "no bpf_res_spin_lock"),
        {"sys/kernel/btf/vmlinux": "\0scx_bpf_dsq_move_to_local\0"},
    ),
    "another": (
        "scheduler in force", "refused", "scx_lavd (enabled)",
        {"sys/kernel/sched_ext/state": "enabled", "sys/kernel/sched_ext/root/ops": "scx_lavd\n"},
    ),
    "nameless": (
        "scheduler in force", "refused", "one without", {"sys/kernel/sched_ext/state": "enabling"},
    ),
    "ours": (
        "scheduler in force", "good", "hyperperiod",
        {"sys/kernel/sched_ext/state": "enabled", "sys/kernel/sched_ext/root/ops": "hyperperiod\n"},
    ),
    "isolcpus": ("isolcpus", "refused", "isolcpus=2-3", {"proc/cmdline": "a isolcpus=2-3 b"}),
    "domain": ("isolcpus", "refused", "domain,", {"proc/cmdline": "isolcpus=domain,managed_irq,2"}),
    "managed irqs": ("isolcpus", "good", "none", {"proc/cmdline": "isolcpus=managed_irq,2-3"}),
    "ticks": ("isolcpus", "good", "nohz_full=2-3", {"proc/cmdline": "nohz_full=2-3"}),
    "offline": ("offline cpus", "refused", "cpus 3 of", {f"{CPU}/online": "0-2"}),
    "governor": ("governor", "costs", "'powersave' on cpus 2:", {GOVERNOR: "powersave\n"}),
    "no governor": (
        "governor", "good", "does not change",
        {GOVERNOR: None, f"{CPU}/cpu3/cpufreq/scaling_governor": None},
    ),
    "deep": ("idle states", "costs", "'C6: 133 us'", {f"{CPU}/cpu2/cpuidle/state1/disable": "0"}),
    "held": (
        "idle states", "good", "/dev/cpu_dma_latency",
        {f"{CPU}/cpu2/cpuidle/state1/disable": "0", "dev/cpu_dma_latency": "\x14\0\0\0"},
    ),
    "not held": (
        "idle states", "costs", "133 us",
        {f"{CPU}/cpu2/cpuidle/state1/disable": "0", "dev/cpu_dma_latency": "\0\x10\0\0"},
    ),
    "interrupts": ("interrupts", "costs", "1 may come to cpus of servers: 24 (ahci)", {IRQ: "0-3"}),
    "not obeyed": (
        "interrupts", "costs", "24 (ahci)", {"proc/irq/24/effective_affinity_list": "3"},
    ),
    "irqbalance": ("irqbalance", "costs", "runs (80)", {"proc/80/comm": "irqbalance\n"}),
    "siblings": ("SMT", "costs", "2 with 0", {f"{CPU}/cpu2/topology/thread_siblings_list": "0,2"}),
    "sibling off": ("SMT", "good", "", {f"{CPU}/cpu2/topology/thread_siblings_list": "2,9"}),
    "always": ("huge pages", "costs", "always", {HUGE: "[always] madvise never\n"}),
    "no huge pages": ("huge pages", "good", "none", {HUGE: None}),
    "fifo": ("real-time threads", "costs", "a) b (81)", {"proc/80/task/81/stat": stat("a) b", 1)}),
    "no bound": (
        "real-time threads", "good", "sched_rt_runtime_us is -1",
        {"proc/sys/kernel/sched_rt_runtime_us": "-1\n"},
    ),
    "of the kernel": (
        "real-time threads", "good", "none", {"proc/80/task/81/stat": stat("m/0", 1, 0x200040)},
    ),
    "elsewhere": (
        "real-time threads", "good", "none",
        {"proc/80/task/81/stat": stat("a", 2),
         "proc/80/task/81/status": "Cpus_allowed_list:\t0-1\n"},
    ),
    "swap": ("swap", "costs", "/dev/sda2", {"proc/swaps": "Filename\n/dev/sda2 partition 9\n"}),
    "steal": ("hypervisor", "costs", "5.00%", {"proc/stat": "cpu2 90 0 0 5 0 0 0 5 0 0\n"}),
    "virtual": ("hypervisor", "good", "there is one", {"proc/cpuinfo": "flags : fpu hypervisor\n"}),
    "watchdog": (
        "watchdog", "costs", "watchdog on cpus 2-3", {"proc/sys/kernel/watchdog_cpumask": "0-3\n"},
    ),
    "nmi": (
        "watchdog", "costs", "watchdog and nmi_watchdog",
        {"proc/sys/kernel/watchdog_cpumask": "0-3\n", "proc/sys/kernel/nmi_watchdog": "1\n"},
    ),
    "clock": (
        "clock", "costs", "'hpet'",
        {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"},
    ),
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "root", HEALTHY)
    return tmp_path / "root"


def look(root: Path, cpus: list[int] | None = None) -> dict[str, Finding]:
    """What is found on the machine, of which by default two of four cpus have servers."""
    return examine(Machine.of(root, cpus or [2, 3]))


Doctor = Callable[..., Result]


@pytest.fixture
def doctor(root: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """Calls the command, as root, on the machine of the folder."""
    monkeypatch.setattr(readings, "ROOT", root)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return lambda *words: CliRunner().invoke(main, ["linux", "doctor", *words])


def contents(root: Path) -> dict[str, str]:
    """What all files say, but for the lock, which is empty."""
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(root)): path.read_text() for path in files}


def test_where_nothing_costs_all_is_good(root: Path) -> None:
    assert {name: one for name, one in look(root).items() if one.verdict is not Verdict.GOOD} == {}


@pytest.mark.parametrize("case", CASES)
def test_what_costs_is_found_alone(root: Path, case: str) -> None:
    name, verdict, said, changes = CASES[case]
    write(root, changes)
    findings = look(root)
    assert (findings[name].verdict, said in findings[name].found) == (verdict, True), findings[name]
    assert bool(findings[name].advice) is (verdict != "good")
    others = [one for one, finding in findings.items() if finding.verdict is not Verdict.GOOD]
    assert others == ([] if verdict == "good" else [name])


def test_every_check_has_a_case_that_trips_it(root: Path) -> None:
    assert {name for name, verdict, _, _ in CASES.values() if verdict != "good"} == set(look(root))


ODD = ("", "\0", "-1", "x " * 99, "[", "9" * 5000, "3-1", "1-99999999")


def test_no_file_can_say_what_ends_it(root: Path) -> None:
    """It is odd, or means something; a folder in its place is as if it were not there."""
    for path, healthy in HEALTHY.items():
        for text in ODD:
            write(root, {path: text})
            assert all(one.found for one in look(root).values()), (path, text)
        (root / path).unlink()
        (root / path).mkdir()
        assert all(one.found for one in look(root, [0, 1, 2, 3]).values()), path
        (root / path).rmdir()
        write(root, {path: healthy})


def test_what_is_not_understood_is_said(root: Path) -> None:
    write(root, {"proc/sys/kernel/watchdog_cpumask": "all of them", HUGE: "sometimes"})
    findings = look(root)
    assert findings["watchdog"] == Finding(
        Verdict.UNKNOWN, "/proc/sys/kernel/watchdog_cpumask says 'all of them'"
    )
    assert findings["huge pages"].verdict is Verdict.UNKNOWN


def test_an_empty_machine_is_no_fault(tmp_path: Path) -> None:
    findings = examine(Machine.of(tmp_path, None))
    assert findings["sched_ext"].verdict is Verdict.REFUSED
    assert findings["functions"].verdict is Verdict.REFUSED


def test_interrupts_need_a_cpu_without_servers(root: Path) -> None:
    finding = look(root, [0, 1, 2, 3])["interrupts"]
    assert (finding.verdict, finding.changes) == (Verdict.COSTS, [])
    assert "--cpus" in finding.advice


@pytest.mark.parametrize("cpus", [[0], [0, 1, 2], [0, 2, 4, 5], [7, 8, 1]])
def test_lists_of_cpus_are_read_as_they_are_written(cpus: list[int]) -> None:
    assert read_list(write_list(cpus)) == sorted(cpus)


# -- The command ----------------------------------------------------------------------------------


def test_the_exit_code_says_whether_something_was_found(root: Path, doctor: Doctor) -> None:
    assert doctor("--cpus", "2-3").exit_code == 0
    write(root, {HUGE: "[always] madvise never\n"})
    done = doctor("--cpus", "2-3")
    assert done.exit_code == 1
    assert "costs    huge pages          always: threads wait" in done.stdout
    assert "do: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled (or --fix)" in done.stdout
    done = doctor("--cpus", "2-3", "--json")
    found = {one["name"]: one for one in json.loads(done.stdout)["findings"]}
    assert (done.exit_code, found["huge pages"]["fixable"]) == (1, True)
    assert list(found) == list(look(root))


def test_without_cpus_all_that_are_online_have_servers(root: Path, doctor: Doctor) -> None:
    write(root, {f"{CPU}/online": "0-2"})
    assert "good     offline cpus        cpus 0-2 of servers are online" in doctor().stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cpus", "2-9"), "--cpus: found 2-9; allowed: cpus of this machine: 0-3"),
        (("--cpus", "3-2"), "allowed: cpus such as 0,2-3"),
        (("--fix", "--unfix"), "found --fix and --unfix; allowed: one of them"),
        (("--measure", "1"), "--measure"),
    ],
)
def test_bad_input_is_refused(doctor: Doctor, words: tuple[str, ...], said: str) -> None:
    done = doctor(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


# -- Changes --------------------------------------------------------------------------------------

SICK = {HUGE: "[always] madvise never\n", GOVERNOR: "powersave\n", IRQ: "0-3\n"}


def test_what_is_fixed_is_brought_back(root: Path, doctor: Doctor) -> None:
    write(root, SICK)
    before = contents(root)
    fixed = json.loads(doctor("--cpus", "2-3", "--fix", "--json").stdout)
    assert {one["path"]: (one["before"], one["after"]) for one in fixed["changed"]} == {
        f"/{GOVERNOR}": ("powersave", "performance"),
        f"/{IRQ}": ("0-3", "0-1"),
        f"/{HUGE}": ("always", "madvise"),
    }
    assert {one["verdict"] for one in fixed["findings"]} == {"good"}
    assert json.loads(doctor("--cpus", "2-3", "--fix", "--json").stdout)["changed"] == []
    unfixed = json.loads(doctor("--cpus", "2-3", "--unfix", "--json").stdout)
    assert len(unfixed["changed"]) == 3
    # A file of the kernel's would say it with brackets.
    assert contents(root) == before | {HUGE: "always", GOVERNOR: "powersave", IRQ: "0-3"}
    assert json.loads(doctor("--cpus", "2-3", "--unfix", "--json").stdout)["changed"] == []


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("written", [False, True])
def test_what_ends_a_fix_leaves_nothing_unrecorded(
    root: Path, monkeypatch: pytest.MonkeyPatch, count: int, written: bool
) -> None:
    """It is ended before or after a write, and then again from where it was."""
    write(root, SICK)
    machine = Machine.of(root, [2, 3])
    really = remedies._write
    for _ in range(2):
        left = iter(range(count - 1, -1, -1))

        def ends(files: Readings, path: str, value: str, left: Iterator[int] = left) -> str:
            last = next(left) == 0
            failed = "" if last and not written else really(files, path, value)
            if last:
                raise KeyboardInterrupt
            return failed

        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            patch.setattr(remedies, "_write", ends)
            remedies.fix(machine.files, look(root).values())
    assert len(json.loads((root / remedies.RECORD).read_text())) >= count
    assert len(remedies.unfix(machine.files)) >= count - (not written)
    assert [machine.files.chosen(path) for path in SICK] == ["always", "powersave", "0-3"]
    assert not (root / remedies.RECORD).exists()


def test_what_the_kernel_refuses_is_said_and_not_recorded(root: Path) -> None:
    write(root, {IRQ: "0-3\n"})
    findings = [Finding(Verdict.COSTS, "", "", [Change("full", "0"), Change(IRQ, "0-1")])]
    (root / "full").symlink_to("/dev/full")
    files = FullReads(root)
    first, second = remedies.fix(files, findings)
    assert first.failed == "refused by the kernel: no space left on device"
    assert second.failed == ""
    assert list(json.loads((root / remedies.RECORD).read_text())) == [IRQ]


class FullReads(Readings):
    """/dev/full is read without an end."""

    def chosen(self, path: str) -> str | None:
        return "1" if path == "full" else super().chosen(path)


def test_what_somebody_else_changed_since_is_left_alone(root: Path) -> None:
    write(root, SICK)
    machine = Machine.of(root, [2, 3])
    remedies.fix(machine.files, look(root).values())
    write(root, {HUGE: "never", IRQ: None})
    changed = {one.path: one.failed for one in remedies.unfix(machine.files)}
    assert changed == {f"/{HUGE}": "left alone, changed since", f"/{GOVERNOR}": ""}
    assert (root / HUGE).read_text() == "never"
    assert not (root / remedies.RECORD).exists()


@pytest.mark.parametrize("wish", ["--fix", "--unfix"])
def test_only_root_changes_anything(
    root: Path, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    write(root, SICK)
    before = contents(root)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = doctor(wish)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "only root may change settings of the kernel: use sudo" in done.stderr
    assert contents(root) == before


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"before": "1"}}', "\x00"])
def test_a_record_that_is_none_is_refused(root: Path, text: str) -> None:
    write(root, {remedies.RECORD: text, **SICK})
    with pytest.raises(InputError, match="found no record of `--fix`"):
        remedies.fix(Readings(root), look(root).values())
    assert (root / HUGE).read_text() == SICK[HUGE]


# -- Measured -------------------------------------------------------------------------------------


def test_wake_ups_of_this_machine_are_measured(doctor: Doctor) -> None:
    here = sorted(os.sched_getaffinity(0))
    done = doctor("--measure", "20ms", "--json", "--cpus", str(here[0]))
    (first,) = json.loads(done.stdout)["wake_ups"]
    assert (first["cpu"], first["count"]) == (here[0], 20)
    assert 0 < first["p50_ns"] <= first["p99_ns"] <= first["max_ns"]
    assert json.loads(done.stdout)["findings"][-1]["name"] == f"wake-ups on {here[0]}"
    assert sorted(os.sched_getaffinity(0)) == here


def test_instants_that_have_passed_are_not_slept_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that was late by 5 ms is not late for the next five as well."""
    read: list[int] = []

    def clock(kind: int) -> int:
        read.append(really(kind) + 5_000_000 * (len(read) == 1))
        return read[-1]

    really = time.clock_gettime_ns
    monkeypatch.setattr(time, "clock_gettime_ns", clock)
    late = lateness.late_ns(3)
    slept_for = [now - by for now, by in zip(read[1:], late, strict=True)]
    assert late[0] >= 5_000_000
    for before, after, by in zip(slept_for, slept_for[1:], late, strict=False):
        assert after - before == 1_000_000 * (1 + by // 1_000_000)


def test_late_wake_ups_cost() -> None:
    good = lateness.judged(lateness.WakeUps(0, 1000, 4_000, 9_000, 60_500))
    assert good == Finding(
        Verdict.GOOD, "late by 4.0 us (half), 9.0 us (99 in 100), 60.5 us (all 1000)"
    )
    late = lateness.judged(lateness.WakeUps(0, 1000, 4_000, 9_000, 100_001))
    assert late.verdict is Verdict.COSTS


def test_a_cpu_that_this_process_may_not_use_is_refused() -> None:
    with pytest.raises(MissingError, match="may not run on cpu 60000"):
        lateness.measure([60_000], 1_000_000)


# -- Under a kernel that has sched_ext ------------------------------------------------------------

SESSION = """\
look() {
    name=$1
    shift
    hyperperiod linux doctor --cpus 1 --json "$@" >left/$name 2>left/$name.err
    cat /sys/kernel/mm/transparent_hugepage/enabled /proc/irq/*/smp_affinity_list >left/$name.files
}
look before
look fixed --fix --measure 200ms
look unfixed --unfix
exit 0
"""


@pytest.mark.slow
def test_a_kernel_takes_what_is_fixed_and_brought_back(tmp_path: Path) -> None:
    """Debian's, in a machine of two cpus, whose interrupts come to both."""
    left = session(SESSION, {}, tmp_path, cpus=2)
    assert [left[f"{name}.err"] for name in ("before", "fixed", "unfixed")] == [b""] * 3
    found = {one["name"]: one for one in json.loads(left["before"])["findings"]}
    assert {found[name]["verdict"] for name in ("sched_ext", "functions")} == {"good"}
    assert found["interrupts"]["verdict"] == "costs"
    changed = json.loads(left["fixed"])["changed"]
    assert any(one["path"].startswith("/proc/irq/") and not one["failed"] for one in changed)
    assert left["fixed.files"] != left["before.files"] == left["unfixed.files"]
    assert not [one for one in json.loads(left["unfixed"])["changed"] if one["failed"]]
    (wake_ups,) = json.loads(left["fixed"])["wake_ups"]
    assert wake_ups["count"] == 200
