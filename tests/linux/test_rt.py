# SPDX-License-Identifier: BSD-2-Clause
"""The task API in C and in Python: both wait for the same releases and meet the same deadlines as a
model in a few lines, and both enter and leave servers by the daemon's socket.

The clock stands still but for what it is told, so nothing here depends on how fast anything is.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.linux.daemons import Daemon, daemon_in, program
from tests.support.building import TOP

from hyperperiod import rt

SEED = int(os.environ.get("HYPERPERIOD_SEED", "20250101"))


class StandingClock(rt.Clock):
    def __init__(self) -> None:
        self.time_ns = 0

    def now_ns(self) -> int:
        return self.time_ns

    def wait_ns(self, until_ns: int) -> None:
        self.time_ns = max(self.time_ns, until_ns)


def driver(lines: Sequence[str], socket: Path | None = None) -> list[str]:
    """What the C library answers to these calls."""
    done = subprocess.run(
        [program("rt_driver")],
        input="".join(f"{line}\n" for line in lines),
        env={"HYPERPERIOD_TASKS": str(socket)} if socket else {},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def model(period: int, deadline: int | None, works: Sequence[int]) -> list[tuple[bool, int]]:
    """Job k is released at k periods; it begins when it is released and the one before it is done.
    Whether each deadline was met, and when the wait for the next job was over."""
    done, found = 0, []
    for job, work in enumerate(works):
        done = max(done, job * period) + work
        met = done <= job * period + (deadline or period)
        found.append((met, max(done, (job + 1) * period)))
    return found


def test_both_equal_the_model() -> None:
    rng = random.Random(SEED)
    for _ in range(100):
        period = rng.randint(1, 20)
        deadline = rng.choice([None, rng.randint(1, 30)])
        works = [rng.choice([0, rng.randint(0, period), rng.randint(0, 4 * period)])
                 for _ in range(20)]  # fmt: skip
        expected = model(period, deadline, works)
        lines = ["enter", f"period {period}", *([f"deadline {deadline}"] if deadline else [])]
        begin = len(lines)
        for work in works:
            lines += [f"work {work}", "wait"]
        answers = [line.split() for line in driver(lines)[begin + 1 :: 2]]
        assert [(met == "1", int(at)) for met, at in answers] == expected, (SEED, lines)
        clock = StandingClock()
        task = rt.Task(period_ns=period, deadline_ns=deadline, clock=clock)
        for work, (met, at) in zip(works, expected, strict=True):
            clock.time_ns += work
            assert (task.wait_for_period(), clock.time_ns) == (met, at), (SEED, lines)


def test_what_makes_no_sense_is_refused() -> None:
    """In C by an errno below 0 and a text, in Python by a ValueError."""
    lines = ["wait", "exit", "server a", "enter", "enter", "wait", "period 0", "deadline 0",
             "priority 32768", f"server {'a' * 64}", "server", "exit", "exit"]  # fmt: skip
    codes = [int(line.split()[0]) for line in driver(lines)]
    assert codes == [-22, -22, -22, 0, -16, -22, -22, -22, -22, -22, -22, 0, -22]
    for period_ns in (0, 1 << 62):
        with pytest.raises(ValueError, match="period_ns: found"):
            rt.Task(period_ns=period_ns)
    with pytest.raises(ValueError, match="deadline_ns: found"):
        rt.Task(deadline_ns=0)
    with pytest.raises(ValueError, match="priority: found"):
        rt.Task(priority=32768)
    with pytest.raises(ValueError, match="no period"):
        rt.Task().wait_for_period()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with daemon_in(tmp_path) as one:
        one.does("policy name=ptps pcpus=0")
        for name, users in (("edf", "all"), ("fp", "all"), ("fifo", "none")):
            one.does(f"server {name} pcpu=0 best_effort=1 inside={name} users={users}")
        one.does("start")
        yield one


def test_c_enters_and_leaves_servers(daemon: Daemon) -> None:
    """A server learns what it goes by: the deadline or the priority of its tasks."""
    tasks = daemon.folder / "tasks"
    before = len(daemon.calls)
    lines = ["enter", "server edf", "period 500", "deadline 300", "priority 7", "server fp", "exit"]
    assert all(line.startswith("0 ") for line in driver(lines, tasks))
    told = [call.split() for call in daemon.calls[before:]]
    (thread,) = {words[2] for words in told}
    assert thread.startswith("thread=")
    assert [(*words[:2], words[3]) for words in told] == [
        ("attach", "0", "key=-1"),
        ("attach", "0", "key=500"),
        ("attach", "0", "key=300"),
        ("attach", "0", "key=300"),
        ("attach", "1", "key=7"),
        ("detach", "1", "key=7"),
    ]


def test_c_says_why_a_server_is_not_to_be_had(daemon: Daemon, tmp_path: Path) -> None:
    answers = driver(["enter", "server none", "server fifo"], daemon.folder / "tasks")
    assert answers[1].startswith("-1 ")
    assert "found no 'none'" in answers[1]
    if os.getuid() != 0:
        assert "not open to this user" in answers[2]
    assert driver(["enter", "server a"], tmp_path / "nobody")[1].startswith("-2 0 ")


def test_python_enters_and_leaves_servers(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(rt.SOCKET_VARIABLE, str(daemon.folder / "tasks"))
    before = len(daemon.calls)
    me = threading.get_native_id()
    with rt.Task("edf", period_ns=500, deadline_ns=300, priority=7) as task:
        task.set_server("fp")
    assert daemon.calls[before:] == [
        f"attach 0 thread={me} key=300",
        f"attach 0 thread={me} key=300",
        f"attach 1 thread={me} key=7",
        f"detach 1 thread={me} key=7",
    ]
    with pytest.raises(rt.TaskError, match="found no 'none'"):
        rt.Task("none")
    monkeypatch.setenv(rt.SOCKET_VARIABLE, str(tmp_path / "nobody"))
    with pytest.raises(rt.TaskError, match="no hyperperiodd answers"):
        rt.Task("edf")


def test_the_library_is_installed_whole(tmp_path: Path) -> None:
    """A program of somebody else's finds header, library and manual page."""
    make = ["make", "--silent", "-f", "hosts/linux/api/Makefile", f"OUT={tmp_path / 'out'}"]
    subprocess.run([*make, "install", f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=TOP, check=True)
    source = tmp_path / "own.c"
    source.write_text(
        "#include <hyperperiod_rt.h>\n"
        "int main(void) { return rt_enter() || rt_set_period(1) || rt_wait_for_period() < 0; }\n"
    )
    root = tmp_path / "usr"
    own = tmp_path / "own"
    subprocess.run(
        ["cc", f"-I{root / 'include'}", "-o", own, source, f"-L{root / 'lib'}", "-lhyperperiod_rt",
         f"-Wl,-rpath,{root / 'lib'}"], check=True,
    )  # fmt: skip
    subprocess.run([own], check=True, timeout=60)
    page = (root / "share/man/man3/hyperperiod_rt.3").read_text()
    header = (root / "include/hyperperiod_rt.h").read_text()
    for line in (TOP / "hosts/linux/api/exports").read_text().splitlines():
        name = line.strip().rstrip(";")
        if name.startswith("rt_"):
            assert name in page
            assert f"{name}(" in header
