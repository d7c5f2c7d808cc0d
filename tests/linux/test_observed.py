# SPDX-License-Identifier: BSD-2-Clause
"""From a program that runs to enforced budgets, on a kernel with sched_ext, in three commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.linux.whole import session
from tests.support.on_linux import need_linux

# Each thread sums up so many bytes in its period, without the lock of Python; from SIGUSR1 on it
# never sleeps. As in control loops, no timer may be late to save wakes (PR_SET_TIMERSLACK).
PLANT = """\
import ctypes, signal, threading, time, zlib

class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

libc = ctypes.CDLL(None)
libc.prctl(29, 1)
hungry = threading.Event()
data = bytes(1 << 20)

def run(name, period_ns, size):
    with open("/proc/thread-self/comm", "w") as file:
        file.write(name)
    next_ns = time.monotonic_ns()
    while True:
        next_ns += period_ns
        if not hungry.is_set():
            libc.clock_nanosleep(1, 1, ctypes.byref(Time(next_ns // 10**9, next_ns % 10**9)), None)
        zlib.crc32(data[:size])

signal.signal(signal.SIGUSR1, lambda *_: hungry.set())
threading.Thread(target=run, args=("valve", 20_000_000, 1 << 20)).start()
run("pump", 10_000_000, 1 << 18)
"""
# Where the cpu is never idle no timer is late for want of this machine's cpus.
SESSION = """\
chrt -i 0 sh -c "while :; do :; done" &
python3 plant.py &
plant=$!
mount -t tracefs nodev /sys/kernel/tracing
hyperperiod observe --live 1s --only '^(pump|valve)$' --domain plant=. -o plant.toml --json \\
    >left/observed
hyperperiod analyze plant.toml --json >left/analyzed
PATH=BUILT:$PATH
mkdir -p /run/hyperperiod
hyperperiodd --foreground --object BUILT/hyperperiod.bpf.o >left/daemon 2>&1 &
for look in $(seq 100); do
    hyperperiodctl status >left/look 2>&1 && break
    sleep 0.1
done
hyperperiod linux start plant.toml --cpus 0 --attach plant=pid:$plant >left/started
kill -USR1 $plant
sleep 0.5
hyperperiodctl status >left/hungry
sleep 2
hyperperiodctl status >left/last
exit 0
"""


@pytest.mark.slow
def test_observed_threads_are_held_by_the_budgets_of_their_system(tmp_path: Path) -> None:
    """They are started with what was observed of them, and then would take all of the cpu."""
    script = SESSION.replace("BUILT", str(need_linux()))
    left = session(script, {"plant.py": PLANT.encode()}, tmp_path)
    found = {one["name"]: one for one in json.loads(left["observed"])["threads"]}
    periods = {name: (one["kind"], one["period_ns"]) for name, one in found.items()}
    assert periods == {"pump": ("periodic", 10_000_000), "valve": ("periodic", 20_000_000)}
    assert json.loads(left["analyzed"])["schedulable"] is True
    first, last = (json.loads(left[name])["servers"][0] for name in ("hungry", "last"))
    had = (last["used_ns"] - first["used_ns"]) / (last["now_ns"] - first["now_ns"])
    budget = last["budget_ns"] / last["period_ns"]
    assert 0.1 < budget < 0.9
    assert had == pytest.approx(budget, abs=0.003)
    assert last["short_periods"] == 0
