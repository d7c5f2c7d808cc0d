# SPDX-License-Identifier: BSD-2-Clause
"""`export --to cgroup`: its scripts on a kernel that has only its own schedulers, what a quota
gives there, and what that kernel does not take."""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.exported import server, system
from tests.support.on_linux import files_left, load_program

from hyperperiod._analysis import Shape
from hyperperiod.analysis import analyze
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.export import HOSTS, write_folder
from hyperperiod.export.quota import quota_us
from hyperperiod.hosts.linux.stock import US
from hyperperiod.model import InputError, Interface, System, load_system

MS = 1_000_000
SECONDS = 5
TARGET = HOSTS["cgroup"]
A = {"name": "a", "interface": server(35, 100)}
TWO = {"name": "b", "interface": server(7.5, 20), "vcpus": 2}
REST = {"name": "rest", "best_effort": True}
SCRIPTS = ("start", "attach", "stop")


def exported(folder: Path, one: System, cpus: list[int] | None = None) -> Path:
    write_folder(folder / "out", TARGET.files(TARGET.judged(one), cpus), {})
    for name in SCRIPTS:
        subprocess.run(["sh", "-n", folder / "out" / f"{name}.sh"], check=True)
    return folder / "out"


def started(folder: Path, out: Path, config: str) -> subprocess.CompletedProcess[str]:
    """`start.sh` with folders for cgroups, on a kernel of that configuration."""
    (folder / "config").write_text(config)
    (folder / "cgroups").mkdir(exist_ok=True)
    (folder / "cgroups/cgroup.controllers").touch()
    script = (out / "start.sh").read_text().replace("/sys/fs/cgroup", f"{folder}/cgroups")
    script = script.replace("/proc/config.gz", "/nowhere")
    script = script.replace("/boot/config-$(uname -r)", f"{folder}/config")
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)


def test_each_vcpu_has_a_cpu_and_room_for_what_is_overdrawn(tmp_path: Path) -> None:
    out = exported(tmp_path, system(A, TWO, REST), [2, 5, 7])
    for _ in range(2):
        done = started(tmp_path, out, "CONFIG_HZ_250=y\nCONFIG_HZ=250\n")
        assert (done.returncode, done.stderr) == (0, "")
    found = {
        str(path.relative_to(tmp_path / "cgroups")): path.read_text().strip()
        for path in (tmp_path / "cgroups").rglob("*")
        if path.name in ("cpu.max", "cpuset.cpus", "cpuset.cpus.exclusive")
    }
    assert found == {
        "quota-s-a/cpuset.cpus.exclusive": "2",
        "quota-s-a/vcpu0/cpu.max": "40000 100000",
        "quota-s-a/vcpu0/cpuset.cpus": "2",
        "quota-s-a/vcpu0/cpuset.cpus.exclusive": "2",
        "quota-s-b/cpuset.cpus.exclusive": "5,7",
        "quota-s-b/vcpu0/cpu.max": "12500 20000",
        "quota-s-b/vcpu0/cpuset.cpus": "5",
        "quota-s-b/vcpu0/cpuset.cpus.exclusive": "5",
        "quota-s-b/vcpu1/cpu.max": "12500 20000",
        "quota-s-b/vcpu1/cpuset.cpus": "7",
        "quota-s-b/vcpu1/cpuset.cpus.exclusive": "7",
    }
    judged = load_system(out / "system.toml")
    assert (str(judged.policy), judged.pcpus) == ("ds", 3)
    assert [one.name for one in judged.domains] == ["a", "b"]


def test_a_kernel_under_which_quotas_promise_less_is_refused(tmp_path: Path) -> None:
    done = started(tmp_path, exported(tmp_path, system(A)), "CONFIG_HZ=100\n")
    assert done.returncode == 3
    assert "quotas would promise less" in done.stderr
    assert [path.name for path in (tmp_path / "cgroups").iterdir()] == ["cgroup.controllers"]


@pytest.mark.parametrize(("name", "more"), [("start", ""), ("attach", " a 1")])
def test_a_machine_without_cgroups_of_version_2_is_refused(
    tmp_path: Path, name: str, more: str
) -> None:
    script = (exported(tmp_path, system(A)) / f"{name}.sh").read_text()
    path = tmp_path / name
    path.write_text(script.replace("/sys/fs/cgroup", f"{tmp_path}/cgroups"))
    done = subprocess.run(f"sh {path}{more}", shell=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.startswith(b"no cgroups of version 2: ")


def test_what_interrupts_may_take_is_in_the_quota() -> None:
    """Four thefts of 50 us begin in 10 ms at most, a fifth if one may wait long for a switch."""
    stolen = [{"period": 3 * MS, "duration": 50_000}]
    for switch_ns, times in ((0, 4), (2 * MS, 4), (2 * MS + 1, 5)):
        costs = {"context_switch": switch_ns}
        a = {"name": "a", "interface": server(4, 10)}
        one = TARGET.judged(system(a, overheads=costs, stolen=stolen))
        assert quota_us(one, one.domains[0], 0) == (9_000 + times * 50, 10_000)


def test_what_is_stolen_from_one_pcpu_may_be_from_any() -> None:
    """The third domain was on the pcpu of the theft, and has another one now."""
    theft = {"pcpu": 1, "period": 3 * MS, "duration": 50_000}
    domains = ({**A, "name": name, "pcpu": n // 2} for n, name in enumerate("abc"))
    one = TARGET.judged(system(*domains, pcpus=2, stolen=[theft]))
    assert quota_us(one, one.domains[2], 0) == (40_000 + 34 * 50, 100_000)


def test_a_group_half_made_is_ended(tmp_path: Path) -> None:
    """One of two vcpus has been made, and nothing of the second group."""
    out = exported(tmp_path, system(TWO, A))
    (tmp_path / "quota-s-b/vcpu0").mkdir(parents=True)
    script = (out / "stop.sh").read_text().replace("/sys/fs/cgroup", str(tmp_path))
    ended = script.replace('<"$group/cgroup.procs"', "</dev/null")
    done = subprocess.run(["sh", "-c", ended], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (tmp_path / "quota-s-b").exists()


def test_what_is_judged_is_the_server_alone() -> None:
    """Together the servers have more than a pcpu; each alone has what it needs, and one has not."""
    full = system(*({"name": name, "interface": server(6, 10)} for name in "ab"))
    assert analyze(full).schedulable is not True
    assert analyze(TARGET.judged(full)).schedulable is True
    small = system({"name": "a", "interface": server(0.5, 20)})
    assert analyze(TARGET.judged(small)).schedulable is not True


@pytest.mark.parametrize(
    ("domains", "more", "key"),
    [
        ([{**A, "interface": server(0.4, 0.5)}], {}, "domain a: interface.period"),
        ([{**A, "interface": server(5, 2_000)}], {}, "domain a: interface.period"),
        ([{**A, "name": "a b"}], {}, "domain[0].name"),
        (
            [{"name": "a", "vcpu": [{"best_effort": True}, {"interface": server(2, 10)}]}],
            {},
            "domain[0].vcpu[0].best_effort",
        ),
        ([REST], {}, "domain"),
        ([A], {"swap": [{"at": MS, "policy": "ptps"}]}, "swap"),
    ],
)
def test_what_the_kernel_does_not_take_is_refused(
    domains: list[dict[str, Any]], more: dict[str, Any], key: str
) -> None:
    with pytest.raises(InputError) as caught:
        TARGET.files(TARGET.judged(system(*domains, **more)), None)
    assert caught.value.key == key


SCRIPT = f"""\
busybox chmod +x /bin/load
for name in start attach stop; do busybox sed "s,^#!/bin/sh,," /bin/$name.sh >/$name; done
/bin/busybox sh /start 2>/left/complaints || give_up "start.sh: $(busybox cat /left/complaints)"
/bin/busybox sh /start 2>>/left/complaints
/bin/load crowd 3 & process=$!
busybox sleep 1
set -- /proc/$process/task/*
/bin/busybox sh /attach a ${{1##*/}} ${{2##*/}} 2>>/left/complaints
/bin/busybox sh /attach b $process 2>/left/refused; echo $? >>/left/refused
/bin/busybox sh /attach a $process $process 2>/left/twice; echo $? >>/left/twice
for each in "$@"; do busybox grep Cpus_allowed_list $each/status; done >/left/where
had() {{
    busybox grep -h usage_usec /sys/fs/cgroup/quota-s-a/vcpu*/cpu.stat
    read up idle </proc/uptime; echo up $up
}}
had >/left/before
busybox sleep {SECONDS}
had >/left/after
/bin/busybox sh /stop 2>>/left/complaints
/bin/busybox sh /stop 2>>/left/complaints
busybox ls /sys/fs/cgroup >/left/groups
kill $process
"""


@pytest.mark.slow
def test_the_scripts_put_quotas_on_cpus_of_their_own(tmp_path: Path) -> None:
    """Two threads that never sleep have no more than 40 in 100 ms each, a third one is elsewhere.

    How much less they have is the machine's noise: in time in which it stands still no quota comes.
    """
    out = exported(tmp_path, system(A | {"vcpus": 2}))
    scripts = {f"bin/{name}.sh": (out / f"{name}.sh").read_bytes() for name in SCRIPTS}
    programs = {**scripts, "bin/load": load_program(tmp_path)}
    found = files_left(SCRIPT, tmp_path, first="", cpus=3, icount=False, programs=programs)
    assert found["complaints"] == b""
    assert found["refused"] == b"domain: found b; allowed: a\n2\n"
    assert found["twice"].endswith(
        b"; allowed: one of its own for each vcpu, with 35000000/100000000 35000000/100000000\n2\n"
    )
    assert found["where"].split()[1::2] == [b"1", b"2", b"0"]
    before, after = (
        [Fraction(word) for word in found[name].decode().split()[1::2]]
        for name in ("before", "after")
    )
    *had_us, up_s = (late - early for early, late in zip(before, after, strict=True))
    assert len(had_us) == 2
    assert all(0 < one / 10**6 < up_s * Fraction(42, 100) for one in had_us)
    assert b"quota" not in found["groups"]


QUOTAS = """\
busybox chmod +x /bin/load /bin/gaps
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
# under NAME QUOTA/PERIOD COMMAND...: in a cgroup of its own.
under() {{
    group=/sys/fs/cgroup/$1
    busybox mkdir $group
    echo "${{2%%/*}} ${{2#*/}}" >$group/cpu.max
    shift 2
    busybox sh -c "echo \\$\\$ >$group/cgroup.procs; exec /bin/$*"
}}
for each in {each}; do under alone-${{each%%/*}} $each gaps 1000000; done >/left/gaps
under others 25000/100000 load hog &
under beside 15000/20000 gaps 1000000 >/left/beside
"""


@pytest.mark.slow
def test_a_thread_alone_never_waits_longer_than_proved(tmp_path: Path) -> None:
    """On a machine that counts: at most for a period less the server, that is less quota and tick.

    In a second it has what is proved, and at most a quota in each period and one that was there
    when it began. Beside another, whose quota fits as well, it has not what its own would give it.
    """
    servers = [Interface(**server(*one)) for one in ((35, 100), (4, 10), (7, 20), (1, 10))]
    judged = TARGET.judged(
        system(*({"name": f"s{n}", "interface": s} for n, s in enumerate(servers)))
    )
    quotas = [quota_us(judged, one, 0) for one in judged.domains]
    script = QUOTAS.format(each=" ".join(f"{quota}/{period}" for quota, period in quotas))
    programs = {f"bin/{name}": load_program(tmp_path, name=name) for name in ("load", "gaps")}
    found = files_left(script, tmp_path, first="", programs=programs)
    rows = [[int(word) for word in line.split()] for line in found["gaps"].splitlines()]
    assert len(rows) == len(servers)
    for one, (quota, period), (longest_us, had_us) in zip(servers, quotas, rows, strict=True):
        assert period - quota - 1_000 < longest_us <= (one.period_ns - one.budget_ns) // US
        promised_ns = Supply(Shape.GENERAL, one.period_ns, one.budget_ns).sbf(1_000 * MS)
        assert promised_ns // US <= had_us <= (1_000_000 // period + 1) * quota + 5_000
    assert rows[0][1] >= 395_000
    _, had_us = (int(word) for word in found["beside"].split())
    assert had_us < 700_000 < 1_000_000 * 15_000 // 20_000
