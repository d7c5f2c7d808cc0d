# SPDX-License-Identifier: BSD-2-Clause
"""`export --to sched-deadline`: its scripts on a kernel that has only its own schedulers, and what
that kernel does not take.

The machine has two cpus and is as noisy as this one: time in which it stands still is lost to its
threads. Without servers each would have a third.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.exported import server, system
from tests.support.on_linux import files_left, load_program

from hyperperiod.export import HOSTS, write_folder
from hyperperiod.model import InputError, System, load_system

MS = 1_000_000
SECONDS = 5
TARGET = HOSTS["sched-deadline"]
A = {"name": "a", "interface": server(4, 10)}
B = {"name": "b", "interface": server(5, 20)}
C = {"name": "c", "interface": server(7.5, 20), "vcpus": 2, "pcpu": 1}
REST = {"name": "rest", "best_effort": True}


def exported(folder: Path, one: System, cpus: list[int] | None = None) -> Path:
    files = TARGET.files(TARGET.judged(one), cpus)
    write_folder(folder / "out", files, {})
    for name in ("start.sh", "attach.sh", "stop.sh"):
        subprocess.run(["sh", "-n", folder / "out" / name], check=True)
    return folder / "out"


def test_it_is_judged_as_bandwidth_servers(tmp_path: Path) -> None:
    one = system(A, B, REST, policy="crps", sbf="servers", quantum=MS)
    judged = load_system(exported(tmp_path, one) / "system.toml")
    assert (str(judged.policy), judged.sbf, judged.quantum_ns) == ("cbs", "general", None)
    together = TARGET.judged(system(A, policy="rtds", pcpus=2))
    assert str(together.policy) == "cbs+edf+none+global"


def test_a_vcpu_without_a_server_keeps_its_place(tmp_path: Path) -> None:
    both = [{"best_effort": True}, {"interface": server(2, 10)}]
    folder = exported(tmp_path, system({"name": "a", "vcpu": both}))
    assert 'servers="- 2000000/10000000" ;;' in (folder / "attach.sh").read_text()


def test_each_pcpu_is_a_partition(tmp_path: Path) -> None:
    folder = exported(tmp_path, system({**A, "pcpu": 0}, C, pcpus=2), [3, 5])
    started = (folder / "start.sh").read_text()
    assert started.endswith("partition deadline-s-0 3\npartition deadline-s-1 5\n")
    attached = (folder / "attach.sh").read_text()
    assert '  (a) group=/sys/fs/cgroup/deadline-s-0 servers="4000000/10000000" ;;\n' in attached
    both = "7500000/20000000 7500000/20000000"
    assert f'  (c) group=/sys/fs/cgroup/deadline-s-1 servers="{both}" ;;\n' in attached


@pytest.mark.parametrize(
    ("domains", "more", "key"),
    [
        ([{**A, "interface": server(6, 10)}, B, B | {"name": "c"}], {}, "budgets of the servers"),
        (
            [{**A, "interface": {"period": 50_000, "budget": 10_000}}],
            {},
            "domain[0].interface.peri",
        ),
        ([{**A, "interface": server(5, 5_000)}], {}, "domain[0].interface.period"),
        ([{**A, "interface": {"period": MS, "budget": 9_000}}], {}, "domain[0].interface.budget"),
        ([{**A, "name": "a b"}], {}, "domain[0].name"),
        ([{**A, "vcpus": 2, "pcpus": [0, 1]}], {"pcpus": 2}, "domain[0].pcpus"),
        ([A], {"swap": [{"at": MS, "policy": "ptps"}]}, "swap"),
    ],
)
def test_what_the_kernel_does_not_take_is_refused(
    domains: list[dict[str, Any]], more: dict[str, Any], key: str
) -> None:
    with pytest.raises(InputError) as caught:
        TARGET.files(TARGET.judged(system(*domains, **more)), None)
    assert caught.value.key is not None
    assert caught.value.key.startswith(key)


def attached(folder: Path, *which: str) -> subprocess.CompletedProcess[str]:
    """`attach.sh c` without a kernel that does it: which threads it would give servers."""
    script = (folder / "attach.sh").read_text().replace("/sys/fs/cgroup", str(folder))
    head = script.partition('echo "$process" >')[0]
    command = ["sh", "-c", f"{head}echo $process $@", "sh", "c", *which]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_vcpus_of_a_vm_are_found_by_their_names(tmp_path: Path) -> None:
    """In the order of their numbers, which is not that of the threads, and as many as servers."""
    folder = exported(tmp_path, system({**A, "pcpu": 0}, C, pcpus=2))
    (folder / "cgroup.controllers").touch()
    ended, found, process = threading.Event(), [], str(os.getpid())

    def vcpu(number: int) -> None:
        thread = threading.get_native_id()
        Path(f"/proc/self/task/{thread}/comm").write_text(f"CPU {number}/KVM")
        found.append(str(thread))
        ended.wait()

    threads = [threading.Thread(target=vcpu, args=(number,)) for number in (10, 9, 11)]
    try:
        for count, thread in enumerate(threads, 1):
            thread.start()
            while len(found) < count:
                time.sleep(0)
            done = attached(folder, "-p", process)
            if count == 2:
                assert done.stdout.split() == [process, found[1], found[0]]
            else:
                assert (done.returncode, done.stdout) == (2, "")
        assert attached(folder, found[0], found[2]).returncode == 0
        assert attached(folder, found[0], found[0]).returncode == 2
    finally:
        ended.set()


SCRIPT = f"""\
busybox chmod +x /bin/chrt /bin/load /bin/linker /bin/real-chrt
for name in start attach stop; do busybox sed "s,^#!/bin/sh,," /bin/$name.sh >/$name; done
/bin/busybox sh /start 2>/left/complaints || give_up "start.sh: $(busybox cat /left/complaints)"
/bin/busybox sh /start
/bin/load hog & a=$!
busybox sh -c 'echo CPU 0/KVM >/proc/self/comm; while :; do :; done' & b=$!
/bin/load hog & rest=$!
/bin/busybox sh /attach a $a
/bin/busybox sh /attach b -p $b
echo $rest >/sys/fs/cgroup/deadline-s/cgroup.procs
busybox sleep 1000 & sleeper=$!
/bin/busybox sh /attach d $sleeper
/bin/busybox sh /attach c $a 2>/left/refused; echo $? >>/left/refused
/bin/busybox sh /attach a $a $b 2>/left/many; echo $? >>/left/many
had() {{
    for each in $a $b $rest; do read ns rest_of </proc/$each/schedstat; echo $ns; done
    read up idle </proc/uptime
    echo $up
}}
chrt -p $sleeper >/left/asleep
busybox cat /sys/kernel/debug/sched/fair_server/cpu1/runtime >/left/unfair
had >/left/before
busybox sleep {SECONDS}
had >/left/after
/bin/busybox sh /stop 2>>/left/complaints
for each in $a $b $sleeper; do chrt -p $each; done >/left/ended
busybox cat /sys/kernel/debug/sched/fair_server/cpu1/runtime >/left/fair
/bin/busybox sh /stop 2>>/left/complaints
busybox ls /sys/fs/cgroup >/left/groups
kill $a $b $rest $sleeper
"""
SCRIPTS = ("start", "attach", "stop")
CHRT = b'#!/bin/sh\nexec /bin/linker --library-path /bin /bin/real-chrt "$@"\n'


def programs(folder: Path) -> dict[str, bytes]:
    """The scripts, a hog, and chrt with the library that it needs, for the machine's /bin."""
    listed = subprocess.run(["ldd", "/usr/bin/chrt"], capture_output=True, text=True, check=True)
    library, linker = re.findall(r"(/\S+/(?:libc\.so|ld-)\S+)", listed.stdout)
    scripts = {f"bin/{name}.sh": (folder / "out" / f"{name}.sh").read_bytes() for name in SCRIPTS}
    return {
        **scripts,
        "bin/load": load_program(folder),
        "bin/chrt": CHRT,
        "bin/real-chrt": Path("/usr/bin/chrt").read_bytes(),
        "bin/libc.so.6": Path(library).read_bytes(),
        "bin/linker": Path(linker).read_bytes(),
    }


@pytest.mark.slow
def test_the_kernel_gives_the_budgets_and_no_more(tmp_path: Path) -> None:
    """Two threads that always want the cpu, one found as the vcpu of a VM, and one without a server
    beside them."""
    sleeper = {"name": "d", "interface": server(1, 20)}
    exported(tmp_path, system(A, B, sleeper, REST, policy="cbs"))
    found = files_left(
        SCRIPT, tmp_path, first="", cpus=2, icount=False, programs=programs(tmp_path)
    )
    assert found["refused"] == b"domain: found c; allowed: a, b, d\n2\n"
    assert found["many"].endswith(
        b"allowed: one of its own for each vcpu, with 4000000/10000000\n2\n"
    )
    before, after = (
        [Fraction(word) for word in found[name].decode().split()] for name in ("before", "after")
    )
    *had, up_s = (late - early for early, late in zip(before, after, strict=True))
    a, b, rest = (float(ns / 10**9 / up_s) for ns in had)
    assert 0.36 < a < 0.41
    assert 0.22 < b < 0.26
    assert 0.30 < rest < 0.42
    assert found["ended"].decode().count("SCHED_OTHER") == 3
    assert b"SCHED_DEADLINE" in found["asleep"]
    assert (found["unfair"], found["fair"]) == (b"0\n", b"50000000\n")
    assert found["complaints"] == b""
    assert b"deadline-s" not in found["groups"]
