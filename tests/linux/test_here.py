# SPDX-License-Identifier: BSD-2-Clause
"""`run --on linux` and `compare` on the kernel of the machine where they are called.

The machine has a kernel with sched_ext and the files of this one (`whole`). Whatever ends a run,
the kernel's own scheduler is in force afterwards, and nobody of the run is left.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.linux.whole import session
from tests.support.promises import require_properties

from hyperperiod.cli import main
from hyperperiod.hosts.linux import here
from hyperperiod.hosts.linux.client import KERNEL
from hyperperiod.model import MissingError
from hyperperiod.trace.check import check_file
from hyperperiod.trace.properties import Status

pytestmark = pytest.mark.xdist_group("this machine's files on linux")

SYSTEM = """\
name = "two"
policy = "cbs"
[[domain]]
name = "a"
scheduler = "rm"
interface = { period = "10ms", budget = "4ms" }
[[domain.task]]
name = "fast"
period = "20ms"
wcet = "2ms"
[[domain.task]]
name = "slow"
period = "80ms"
wcet = "8ms"
[[domain]]
name = "b"
scheduler = "fifo"
interface = { period = "20ms", budget = "5ms" }
[[domain.task]]
name = "busy"
kind = "busy"
[[domain]]
name = "c"
interface = { period = "20ms", budget = "2ms" }
[[domain.task]]
name = "command"
kind = "busy"
command = ["sh", "-c", "trap '' TERM; pwd; yes >/dev/null; yes >/dev/null"]
"""

SCRIPT = """\
after() {
    cat /sys/kernel/sched_ext/state
    for each in /proc/[0-9]*; do
        read -r what 2>/dev/null <$each/comm
        case "$what" in hyperperiod*|tasks|supervise|yes|ld-linux*) echo "left: $what";; esac
    done
    ls -d /tmp/hyperperiod-* /sys/fs/cgroup/hyperperiod-* 2>/dev/null
}
# Calls hyperperiod: its exit code, what it said, and what there is afterwards.
does() {
    name=$1
    shift
    echo "$name"
    rm -rf out
    sh -c 'echo $$ >pid; exec hyperperiod "$@"' sh "$@" >left/$name.out 2>left/$name.err
    echo $? >left/$name.code
    # A run that was killed is put in order by its script, at once but not before this line.
    for look in 1 2 3 4 5 6 7 8 9 10; do
        after >left/$name.after
        [ "$(cat left/$name.after)" = disabled ] && return
        sleep 0.5
    done
}
# Does something when a run is under way, which begins two seconds after it has said so; nothing if
# it never does.
meanwhile() {
    { for look in $(seq 600); do
          sleep 0.1
          grep -q "begins at" out/two-linux/console.log && sleep 3 && eval "$@" && break
      done; } 2>/dev/null &
}
run="run two.toml --on linux"

does whole $run --horizon 1s --json
cp out/two-linux/run.hpt left/whole.hpt
cp out/two-linux/commands/c.command.log left/whole.log
does compared compare two.toml --hosts sim,linux --horizon 200ms --json
meanwhile 'kill -INT $(cat pid)'
does interrupted $run --horizon 5s --json
cp out/two-linux/run.hpt left/interrupted.hpt
meanwhile 'kill -TERM $(cat pid)'
does terminated $run --horizon 5s --json
cp out/two-linux/run.hpt left/terminated.hpt
meanwhile 'kill -KILL $(cat pid)'
does killed $run --horizon 5s
meanwhile 'kill -KILL $(pidof tasks)'
does broken $run --horizon 5s
{ for look in $(seq 6000); do
      sleep 0.01
      [ "$(cat /sys/kernel/sched_ext/state)" = enabled ] && kill -INT $(cat pid) && break
  done; } &
does early $run --horizon 5s

does no-cpu $run --cpus 1
does full run full.toml --on linux --horizon 1s
"""

CODES = {
    "whole": 0, "compared": 0, "interrupted": 130, "terminated": 130, "killed": 137, "broken": 70,
    "early": 130, "no-cpu": 2, "full": 70,
}  # fmt: skip


class Left:
    """What the calls left."""

    def __init__(self, files: dict[str, bytes], folder: Path) -> None:
        self.files = files
        self.folder = folder

    def text(self, name: str) -> str:
        return self.files[name].decode()

    def trace(self, name: str) -> Path:
        path = self.folder / f"{name}.hpt"
        path.write_bytes(self.files[path.name])
        return path


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("here")
    full = SYSTEM.replace('"5ms"', '"10ms"')
    given = {"two.toml": SYSTEM.encode(), "full.toml": full.encode()}
    return Left(session(SCRIPT, given, folder), folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", CODES)
def test_the_kernels_own_scheduler_goes_on(left: Left, name: str) -> None:
    """With the exit code that it should have, and nothing of the run is left."""
    assert int(left.text(f"{name}.code")) == CODES[name], left.text(f"{name}.err")
    assert left.text(f"{name}.after").split() == ["disabled"]


@pytest.mark.slow
def test_a_run_has_the_result_of_every_host(left: Left) -> None:
    """Decisions are replayed by the run itself; its times are those of the machine."""
    result = json.loads(left.text("whole.out"))
    assert (result["host"], result["timing"], result["horizon_ns"]) == ("linux", "host", 10**9)
    assert [task["misses"] for domain in result["domains"] for task in domain["tasks"]] == [0] * 4
    assert result["domains"][1]["supply_ns"] >= 249_000_000
    assert "on the kernel of this machine" in left.text("whole.err")
    require_properties(left.trace("whole"))


@pytest.mark.slow
def test_a_command_is_one_of_this_machine(left: Left) -> None:
    """It begins where `hyperperiod` was called, and has what its server has."""
    domain = json.loads(left.text("whole.out"))["domains"][2]
    (task,) = domain["tasks"]
    assert left.text("whole.log") == "/tmp\n"
    assert task["command"]["exit_code"] is None
    # While it begins it waits for its files. Under cbs a server that wakes up may begin a period
    # anew: so there are 51 budgets in 50 periods at most, and a grant that ends late.
    assert task["command"]["ran_ns"] == domain["supply_ns"]
    assert 92_000_000 <= domain["supply_ns"] <= 102_200_000


@pytest.mark.slow
def test_two_hosts_are_compared(left: Left) -> None:
    runs = json.loads(left.text("compared.out"))["results"]
    assert [run["host"] for run in runs] == ["sim", "linux"]
    assert [run.get("timing") for run in runs] == [None, "host"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["interrupted", "terminated"])
def test_an_interrupted_run_has_what_was_reached(left: Left, name: str) -> None:
    result = json.loads(left.text(f"{name}.out"))
    assert result["interrupted"]
    assert 0 < result["horizon_ns"] < 5 * 10**9
    for one, finding in check_file(left.trace(name)).findings:
        assert finding.status is not Status.FAILS, (one.name, finding.violations[:3])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "a domain's tasks have ended early"),
        ("no-cpu", "--cpus: found 1; allowed: cpus of this machine: 0; or --in vm"),
        ("full", "found servers that may keep"),
    ],
)
def test_what_is_wrong_is_said(left: Left, name: str, said: str) -> None:
    assert said in left.text(f"{name}.err")
    assert left.text(f"{name}.out") == ""


def test_a_kernel_without_sched_ext_is_refused(tmp_path: Path) -> None:
    """Before anything is looked for; without a word a machine is booted instead."""
    if KERNEL.exists():
        pytest.skip("this kernel has sched_ext")
    file = tmp_path / "two.toml"
    file.write_text(SYSTEM)
    done = CliRunner().invoke(main, ["run", str(file), "--on", "linux", "--in", "here"])
    assert done.exit_code == 3
    assert "this kernel has no sched_ext; `--in vm` boots one" in done.stderr


def test_only_root_puts_a_scheduler_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(here, "lacks", lambda: None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MissingError, match=r"use sudo, or boot a machine with `--in vm`"):
        here.require()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "sim", "--in", "vm"), "found --in without Linux"),
        (("--on", "xen", "--cpus", "1"), "found --cpus without Linux"),
        (("--on", "linux", "--in", "vm", "--cpus", "1"), "allowed: with --in here"),
        (("--on", "linux", "--cpus", "1-x"), "allowed: cpus such as 0,2-3"),
        (("--on", "linux", "--in", "there"), "found 'there'"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    file = tmp_path / "two.toml"
    file.write_text(SYSTEM)
    done = CliRunner().invoke(main, ["run", str(file), *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
