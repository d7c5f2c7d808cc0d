# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod linux import` over machines that are folders, and threads of this one.

Each machine is MACHINE with some files more: four cpus, and cgroups in which nothing is configured.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.exported import TASK, server, system
from tests.support.machine_files import stat, write

from hyperperiod.cli import main
from hyperperiod.export import HOSTS, write_folder
from hyperperiod.hosts.linux import readings
from hyperperiod.hosts.linux.configured import configured, deadline_parameters
from hyperperiod.hosts.linux.readings import OF_THE_KERNEL, Readings
from hyperperiod.model import InputError, Interface, System, load_system

CGROUPS = "sys/fs/cgroup"
MS = 1_000_000
MACHINE = {
    "proc/sys/kernel/hostname": "shop\n",
    "proc/mounts": "proc /proc proc rw 0 0\n",
    "sys/devices/system/cpu/online": "0-3\n",
    f"{CGROUPS}/cgroup.controllers": "cpuset cpu\n",
    f"{CGROUPS}/cpuset.cpus.effective": "0-3\n",
    f"{CGROUPS}/system.slice/cgroup.controllers": "cpu\n",
    f"{CGROUPS}/system.slice/cpu.max": "max 100000\n",
    f"{CGROUPS}/system.slice/cpu.weight": "100\n",
}
NO_CPU = "it has no cpu to itself (cpuset.cpus.partition)"
NO_SERVERS = {f"sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime": "0\n" for cpu in range(4)}


def cgroup(folder: str, quota: str = "max 100000", cpus: str = "", **more: str) -> dict[str, str]:
    """The files of a cgroup: a partition if it has cpus, unless `more` says something else."""
    partition = {"partition": "isolated"} if cpus else {}
    texts = {"cpuset.cpus": cpus} | {f"cpuset.cpus.{key}": text for key, text in partition.items()}
    if cpus:
        texts["cpuset.cpus.effective"] = cpus
    texts |= {"cgroup.controllers": "cpu", "cpu.max": quota, "cpu.weight": "100"}
    texts |= {key.replace("__", "."): text for key, text in more.items()}
    return {f"{CGROUPS}/{folder}/{key}": f"{text}\n" for key, text in texts.items()}


def thread(
    process: int, number: int, name: str, policy: int, cpus: str, flags: int = 0
) -> dict[str, str]:
    """The files of a thread of real time, in the cgroup of a service."""
    return {
        f"proc/{process}/comm": f"{name}\n",
        f"proc/{process}/cgroup": f"0::/system.slice/{name}.service\n",
        f"proc/{process}/task/{number}/comm": f"{name}\n",
        f"proc/{process}/task/{number}/stat": stat(name, policy, flags, priority=50),
        f"proc/{process}/task/{number}/status": f"Cpus_allowed_list:\t{cpus}\n",
    }


def read(
    folder: Path, *files: Mapping[str, str], **deadlines: tuple[int, int, int]
) -> tuple[System, list[str]]:
    """The system that is configured on a machine, read from its file, and the notes."""
    for one in (MACHINE, *files):
        write(folder, one)

    def parameters(number: int) -> tuple[int, int, int]:
        if f"t{number}" not in deadlines:
            raise ProcessLookupError(3, "No such process")
        return deadlines[f"t{number}"]

    text, notes = configured(Readings(folder), parameters)
    path = folder / "found.toml"
    path.write_text(text)
    assert [line for line in notes if f"# {line}\n" not in text] == []
    return load_system(path), notes


def test_a_quota_on_a_cpu_to_itself_is_a_server(tmp_path: Path) -> None:
    system, notes = read(
        tmp_path,
        cgroup("system.slice/radio.service", "12500 20000", "2"),
        cgroup("system.slice/all.service", "max 100000", "3"),
    )
    all_, radio = system.domains
    assert (str(system.policy), system.name, system.pcpus) == ("ds", "shop", 2)
    assert (radio.name, radio.pcpus) == ("radio.service", (0,))
    assert radio.each_vcpu[0].interface == Interface(period="20ms", budget="7.5ms")
    assert all_.each_vcpu[0].interface == Interface(period="10ms", budget="9.5ms")
    assert notes == []


def test_what_an_export_configures_is_read_again(tmp_path: Path) -> None:
    """The cgroups that `start.sh` makes, in a folder: each domain has its servers again."""
    one = system({"name": "a", "vcpus": 2, "interface": server(4, 10), "task": [TASK]})
    host = HOSTS["cgroup"]
    files = host.files(host.judged(one), [1, 3])
    write_folder(tmp_path / "out", files, {})
    script = (tmp_path / "out" / "start.sh").read_text()
    root = tmp_path / "root"
    write(root, MACHINE)
    script = script.replace("/sys/fs/cgroup", str(root / CGROUPS))
    # A kernel that makes the files of each new cgroup, and says which cpus it has.
    made = script.replace('echo threaded >"$own/cgroup.type"', "").replace(
        'echo "$2" >"$own/cpuset.cpus"\n',
        'echo "$2" >"$own/cpuset.cpus"\n  echo "$2" >"$own/cpuset.cpus.effective"\n'
        '  touch "$group/cgroup.controllers" "$own/cgroup.controllers"\n',
    )
    subprocess.run(["sh", "-c", made], check=True)
    found, notes = read(root)
    (again,) = found.domains
    assert (again.name, again.pcpus, notes) == ("quota-s-a", (0, 1), [])
    assert [keys.interface for keys in again.each_vcpu] == [
        Interface(period="10ms", budget="4ms")
    ] * 2


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (cgroup("a", "5000 20000", "2", cpuset__cpus__partition="member"), "no cpu to itself"),
        (cgroup("a", "5000 20000", "2", cpuset__cpus__partition="root invalid"), "no cpu to itse"),
        (cgroup("a", "5000 20000", "2-3"), "no cpu to itself"),
        (cgroup("a", "5000 20000"), "no cpu to itself"),
        (cgroup("a", "9000 20000", "2", cpu__max__burst="10"), "it may burst"),
        (cgroup("a", "5000 20000", "2"), "it may be overdrawn by as much"),
        (
            cgroup("a/b", "9000 20000", "2") | cgroup("a", "9000 20000"),
            "there is one around it, of a",
        ),
        (
            cgroup("a", "9000 20000", "2") | thread(7, 8, "video", 1, "1-2"),
            "video (8), of SCHED_FIFO 50, may be on its cpu",
        ),
    ],
)
def test_a_quota_that_promises_nothing_is_best_effort(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    found, notes = read(tmp_path, files)
    (domain,) = found.domains
    assert (domain.best_effort, any(said in note for note in notes)) == (True, True), notes


def test_weights_and_cpus_are_best_effort(tmp_path: Path) -> None:
    found, notes = read(
        tmp_path,
        cgroup("machine.slice", cpu__weight="300"),
        cgroup("machine.slice/machine-qemu\\x2d1\\x2dweb.scope", cpu__weight="250"),
        cgroup("pinned.service", cpus="1-2", cpuset__cpus__partition="member"),
        cgroup("idle.slice", cpu__weight="0"),
    )
    said = [(one.name, one.best_effort, one.weight, one.vcpus) for one in found.domains]
    assert said == [
        ("idle.slice", True, None, 4),
        ("pinned.service", True, None, 2),
        ("machine-qemu-1-web.scope", True, None, 4),
    ]
    assert notes == [
        "machine.slice: its limits, which are around others",
        "idle.slice: its weight of 1, which is among its siblings",
        "machine-qemu-1-web.scope: its weight of 250, which is among its siblings",
    ]


def test_weights_of_siblings_are_said(tmp_path: Path) -> None:
    found, notes = read(
        tmp_path,
        cgroup("pinned.service", cpus="1-2", cpuset__cpus__partition="member"),
        cgroup("half.slice", cpu__weight="50"),
    )
    assert [(one.name, one.weight) for one in found.domains] == [
        ("half.slice", 50),
        ("pinned.service", 100),
    ]
    assert notes == []


def test_limits_inside_of_a_server_are_named(tmp_path: Path) -> None:
    found, notes = read(tmp_path, cgroup("a", cpus="2"), cgroup("a/b", "5000 20000"), cgroup("a/c"))
    assert [one.name for one in found.domains] == ["a"]
    assert notes == ["a/b: its own limits, inside of a"]


@pytest.mark.parametrize(("quota", "names"), [("max 100000", ["a", "b"]), ("50000 100000", ["b"])])
def test_a_partition_in_another_has_cpus_of_its_own(
    tmp_path: Path, quota: str, names: list[str]
) -> None:
    """The outer one has the cpu that is left; a quota there is around both: it promises nothing."""
    found, notes = read(
        tmp_path,
        cgroup("a", quota, "2-3", cpuset__cpus__effective="3"),
        cgroup("a/b", "50000 100000", "2"),
    )
    assert [one.name for one in found.domains] == names
    inner = found.domains[-1]
    if quota.startswith("max"):
        assert inner.each_vcpu[0].interface == Interface(period="100ms", budget="45ms")
        assert notes == []
    else:
        assert inner.best_effort
        assert "a: its limits, which are around others" in notes


@pytest.mark.parametrize(
    ("cpus", "policy", "pcpus"),
    [(("2", "3", "2"), "cbs", 2), (("0-3", "0-3", "0-3"), "cbs+edf+none+global", 4)],
)
def test_threads_of_deadlines_have_servers(
    tmp_path: Path, cpus: tuple[str, str, str], policy: str, pcpus: int
) -> None:
    machine = {"proc/70/cmdline": "qemu-system-x86_64\0-name\0guest=web,debug-threads=on\0"}
    found, notes = read(
        tmp_path,
        NO_SERVERS,
        machine,
        thread(70, 71, "CPU 0/KVM", 6, cpus[0]),
        thread(70, 72, "CPU 1/KVM", 6, cpus[1]),
        thread(80, 80, "video", 6, cpus[2]),
        t71=(2 * MS, 10 * MS, 10 * MS),
        t72=(3 * MS, 10 * MS, 10 * MS),
        t80=(5 * MS, 40 * MS, 40 * MS),
    )
    web, video = found.domains
    assert (str(found.policy), found.pcpus, web.name, video.name) == (
        policy, pcpus, "web", "video.service",
    )  # fmt: skip
    budgets = [keys.interface and keys.interface.budget_ns for keys in web.each_vcpu]
    assert (budgets, web.pcpus) == ([2 * MS, 3 * MS], None if pcpus == 4 else (0, 1))
    assert (notes, video.each_vcpu[0].interface) == ([], Interface(period="40ms", budget="5ms"))


def test_cpus_that_threads_of_deadlines_do_not_have_are_left_out(tmp_path: Path) -> None:
    member = {"cpuset__cpus__partition": "member"}
    found, notes = read(
        tmp_path,
        NO_SERVERS,
        cgroup("away", cpus="2-3", **member),
        cgroup("with", cpus="0-1", **member),
        thread(80, 80, "video", 6, "0-1"),
        t80=(5 * MS, 40 * MS, 40 * MS),
    )
    assert [one.name for one in found.domains] == ["video.service", "with"]
    assert notes == ["away: best effort on cpus 2-3; a file has cpus 0-1 alone"]


def test_cpus_without_a_place_are_left_out(tmp_path: Path) -> None:
    found, notes = read(
        tmp_path,
        {"sys/devices/system/cpu/online": "0-127\n", f"{CGROUPS}/cpuset.cpus.effective": "0-127\n"},
        cgroup("a", "9000 20000", "2"),
        cgroup("all", cpu__weight="50"),
        cgroup("none", cpu__weight="50", cpuset__cpus__effective=""),
    )
    assert [one.name for one in found.domains] == ["a"]
    assert notes == [
        "all: best effort on cpus 0-127; a file has 1 to 64 pcpus",
        "none: best effort on no cpu; a file has 1 to 64 pcpus",
    ]


def test_threads_of_the_kernels_before_servers_are_named(tmp_path: Path) -> None:
    machine = {"proc/cpuinfo": "flags : fpu hypervisor\n"}
    interrupt = thread(7, 7, "irq/9-eth0", 1, "2", OF_THE_KERNEL)
    elsewhere = thread(8, 8, "irq/8-rtc0", 1, "3", OF_THE_KERNEL)
    _, notes = read(tmp_path, machine, interrupt, elsewhere, cgroup("a", "50000 100000", "2"))
    assert notes == [
        "this machine is virtual: what its host takes of its cpus is not seen",
        "threads of the kernel's that come before servers on their cpus: irq/9-eth0 (7)",
    ]


def test_vcpus_without_servers_take_those_of_others(tmp_path: Path) -> None:
    first, second = cgroup("m/vcpu0", "50000 100000", "2"), cgroup("m/vcpu1", "20000 100000")
    _, notes = read(tmp_path, first, second)
    here = "is best effort here"
    assert notes == [
        f"m/vcpu0: its quota of 50ms in 100ms {here}: other vcpus have no server",
        f"m/vcpu1: its quota of 20ms in 100ms {here}: {NO_CPU}",
    ]


def test_cgroups_that_end_meanwhile_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {**MACHINE, **cgroup("a", "9000 20000", "2")})
    ends = threading.Event()

    def come_and_go() -> None:
        folders = [tmp_path / CGROUPS / f"x{number}" / "y" for number in range(20)]
        while not ends.is_set():
            for one in folders:
                one.mkdir(parents=True)
            for one in folders:
                one.rmdir()
                one.parent.rmdir()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        texts = {configured(Readings(tmp_path))[0] for _ in range(200)}
    finally:
        ends.set()
        other.join()
    assert len(texts) == 1


def test_what_is_beside_deadlines_is_named(tmp_path: Path) -> None:
    _, notes = read(
        tmp_path,
        {"proc/mounts": "proc /proc proc rw,hidepid=2 0 0\n", f"{CGROUPS}/cgroup.events": "p 1\n"},
        cgroup("a", "9000 20000", "2"),
        thread(80, 80, "video", 6, "0-3"),
        thread(81, 81, "gone", 6, "0-3"),
        thread(82, 82, "a\nb", 1, "0-3"),
        t80=(5 * MS, 40 * MS, 40 * MS),
    )
    said = "\n".join(notes)
    for what in (
        "a?b (82), of SCHED_FIFO 50 has no period",
        "gone (81), of SCHED_DEADLINE: no parameters (No such process)",
        "a: its quota of 9ms in 20ms is best effort here: a file has one policy",
        "the kernel's own servers",
        "hidepid",
        "outside of this container",
    ):
        assert what in said


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, "nothing configured"),
        (thread(90, 90, "gone", 6, "0-3"), r"can say; gone \(90\), of SCHED_DEADLINE: no param"),
        (thread(80, 80, "late", 6, "0-3"), "a deadline of 20ms in 40ms"),
        (
            thread(81, 81, "here", 6, "0-1") | thread(82, 82, "there", 6, "2"),
            "threads on cpus 0-1 and 2",
        ),
        (cgroup("a", "many 20000"), "says 'many 20000'"),
    ],
)
def test_what_is_no_one_system_is_refused(
    tmp_path: Path, files: dict[str, str], found: str
) -> None:
    whole = (5 * MS, 40 * MS, 40 * MS)
    with pytest.raises(InputError, match=found):
        read(tmp_path, files, t80=(5 * MS, 20 * MS, 40 * MS), t81=whole, t82=whole)


def test_the_command_prints_a_system_and_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {**MACHINE, **cgroup("a", "9000 20000")})
    monkeypatch.setattr(readings, "ROOT", tmp_path)
    result = CliRunner().invoke(main, ["linux", "import"])
    assert result.exit_code == 0, result.stderr
    assert 'name = "shop"' in result.stdout
    assert result.stderr.startswith("warning: not in the file: a: its quota of 9ms")
    (tmp_path / CGROUPS / "cgroup.controllers").unlink()
    result = CliRunner().invoke(main, ["linux", "import"])
    assert result.exit_code == 3
    assert "boot with systemd.unified_cgroup_hierarchy=1" in result.stderr


def test_the_kernel_says_what_it_has_admitted() -> None:
    """A thread of this machine, where one may be made."""
    run = "import sys; print(flush=True); sys.stdin.read()"
    words = ["chrt", "-d", "-T", "2000000", "-D", "10000000", "-P", "10000000", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*words, sys.executable, "-c", run], stdin=pipe, stdout=pipe) as made:
        assert made.stdout is not None
        if not made.stdout.readline():
            pytest.skip("no thread of SCHED_DEADLINE may be made here: not root, or no cpu time")
        assert deadline_parameters(made.pid) == (2 * MS, 10 * MS, 10 * MS)
        made.communicate()
