# SPDX-License-Identifier: BSD-2-Clause
"""What is saved comes back: a daemon that performs the requests of another has the same system."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.linux.daemons import Daemon, daemon_in, program
from tests.support.building import TOP

from hyperperiod.cli import main
from hyperperiod.export import export_linux
from hyperperiod.for_host import for_host
from hyperperiod.hosts.linux.client import Client
from hyperperiod.hosts.linux.live import DAEMON
from hyperperiod.hosts.linux.save import HEAD, save
from hyperperiod.model import InputError, MissingError, load_system, vcpus_of
from hyperperiod.model.policy import PRESETS, Scope

SYSTEMS = TOP / "systems"
SEED = int(os.environ.get("HYPERPERIOD_SEED", "20250101"))
OF_A_DAEMON = ("pid", "clock_ns", "base_ns")
OF_A_NUMBER = ("used_ns", "runs_at")


def places(daemon: Daemon) -> dict[int, str]:
    """The lock domains and places there of the servers, by their numbers in the kernel.

    A number that a server had which was removed is nobody's later. Where it stands among the others
    is what the core goes by.
    """
    ids = sorted(server["runs_at"] for server in daemon.does("status")["servers"])
    return {one: f"{one // 64}/{sum(one - one % 64 <= each < one for each in ids)}" for one in ids}


def known(daemon: Daemon) -> dict[str, Any]:
    """What a daemon knows, without what differs from one to the next, by the servers' places."""
    status = daemon.does("status")
    servers = {}
    for server in status.pop("servers"):
        for member in server["members"]:
            if member.get("pid") == status["pid"]:
                member["pid"] = "self"
        own = {key: value for key, value in server.items() if key not in OF_A_NUMBER}
        servers[places(daemon)[server["runs_at"]]] = own
    return {"servers": servers, **{key: status[key] for key in status if key not in OF_A_DAEMON}}


def told(daemon: Daemon) -> list[str]:
    """What the kernel was told since the last start."""
    calls = [call.split() for call in daemon.calls]
    calls = calls[max(i for i, call in enumerate(calls) if call[0] == "start") :]
    for call in calls[1:]:
        call[1] = places(daemon)[int(call[1])]
    own = f"pid={daemon.process.pid}"
    return sorted(" ".join("pid=self" if word == own else word for word in call) for call in calls)


def saved(daemon: Daemon, path: Path) -> list[str]:
    """The lines that are saved to a file, without the head."""
    with Client(daemon.folder / "control") as client:
        save(client, path)
    text = path.read_bytes()
    assert text.startswith(HEAD)
    return text.removeprefix(HEAD).decode("ascii").splitlines()


def require_back(daemon: Daemon, folder: Path) -> list[str]:
    """What is saved makes the same system of a new daemon, and its kernel is told the same; the
    lines."""
    lines = saved(daemon, folder / "requests")
    (folder / "again").mkdir(exist_ok=True)
    (folder / "again/kernel.cgroups").symlink_to(folder / "kernel.cgroups")
    daemon.ask("stop")
    daemon.does("start force=1")
    with daemon_in(folder / "again", "--requests", str(folder / "requests")) as again:
        assert not any("requests:" in line for line in again.log), again.log
        assert known(again) == known(daemon)
        assert told(again) == told(daemon)
        assert saved(again, folder / "second") == lines
    return lines


def test_all_of_a_system_comes_back(tmp_path: Path) -> None:
    """Numbers of servers, the order of patterns, a policy that was swapped, who may enter."""
    groups = tmp_path / "kernel.cgroups"
    (groups / "s" / "one").mkdir(parents=True)
    times = "period_ns=10000000 budget_ns=1000000"
    with daemon_in(tmp_path) as daemon:
        daemon.does(
            "policy name=ptps pcpus=0,2 decision_ns=7000 spare_period_ns=30000000",
            f"server first pcpu=0 {times} priority=3 inside=fp users=12345",
            f"server gone pcpu=0 {times}",
            f"server third pcpu=0 {times} inside=edf users=all",
            f"server other pcpu=2 {times} inside=fifo",
            "attach other cgroup=s/gone wait=1",
            'attach first cgroup=/s/\\x2d"quoted"\\\\\' wait=1',
            "attach third cgroup=s/*",
            "attach first cgroup=s/o+([a-z])*[!x]?",
            "attach gone cgroup=s/@(a|b)",
            "attach other cgroup=s/on*",
            "remove gone",
            "server last pcpu=2 best_effort=1",
            f"server again pcpu=0 {times}",
            "attach last pid=self",
            "attach first pid=self key=9",
            f"attach other thread={os.getpid()}",
            "swap name=ds",
            "set other budget_ns=2000000 priority=7",
            "detach other cgroup=s/gone",
            "record on",
            "start",
        )
        daemon.does(f"detach other thread={os.getpid()}")
        lines = require_back(daemon, tmp_path)
        assert lines[-1] == "start"
        assert [line for line in lines if "*" in line] == [
            "attach third cgroup=/sys/fs/cgroup/s/*",
            "attach first cgroup=/sys/fs/cgroup/s/o+([a-z])*[!x]?",
            "attach other cgroup=/sys/fs/cgroup/s/on*",
        ]
        daemon.does("stop")
        assert saved(daemon, tmp_path / "stopped") == lines[:-1]


def test_equal_servers_keep_their_turns(tmp_path: Path) -> None:
    """Each has a number in its lock domain, by which the core chooses between equals."""
    times = "period_ns=10000000 budget_ns=1000000"
    with daemon_in(tmp_path) as daemon:
        daemon.does(
            "policy name=ds pcpus=0-1 quantum_ns=1000000",
            *(f"server s{number} pcpu={pcpu} {times}" for number, pcpu in enumerate([0, 1, 0, 1])),
            "remove s1",
            f"server last pcpu=0 {times}",
            "start",
        )  # fmt: skip
        listed = [server["name"] for server in daemon.does("status")["servers"]]
        assert listed == ["s0", "last", "s2", "s3"]
        lines = require_back(daemon, tmp_path)
    servers = [line.split()[1:3] for line in lines if line.startswith("server ")]
    assert servers == [
        ["s0", "number=0"], ["last", "number=2"], ["s2", "number=1"], ["s3", "number=1"],
    ]  # fmt: skip


def test_who_comes_after_a_daemon_that_died_knows_all(tmp_path: Path) -> None:
    """Processes and threads too, and who had them enter; not after one that was told to end."""
    keep = ("--keep", str(tmp_path / "pins"))
    kept = tmp_path / "control.requests"
    times = "period_ns=10000000 budget_ns=1000000"
    own = os.getpid()
    with daemon_in(tmp_path, *keep) as daemon:
        daemon.does(
            "policy name=ptps pcpus=0",
            f"server gone pcpu=0 {times}",
            f"server one pcpu=0 {times} users=all inside=fp",
            f"server two pcpu=0 {times}",
            "remove gone",
            "attach two pid=self",
            f"attach two pid={own} key=7",
            "start",
            "swap name=ds",
        )
        assert daemon.ask(f"enter one thread={own} priority=3", daemon.connect("tasks"))["ok"]
        before = known(daemon)
        said = kept.read_text()
        assert kept.stat().st_mode & 0o777 == 0o600
        daemon.process.kill()
        daemon.process.wait()
    with daemon_in(tmp_path, *keep, "--requests", str(tmp_path / "none")) as again:
        assert f"keep {keep[1]} known=1" in again.calls
        assert known(again) == before
        assert kept.read_text() == said
        assert "born: found another one" in again.refuses(f"attach one thread={own} born=1")
        assert "allowed: pid= or thread=" in again.refuses("attach one cgroup=s wait=1 user=1")
        assert "another server has" in again.refuses(f"server new number=2 pcpu=0 {times}")
        assert again.ask(f"leave thread={own}", again.connect("tasks"))["ok"]
        assert kept.read_text() != said
    assert not kept.exists()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_systems_under_every_policy_come_back(tmp_path: Path, name: str) -> None:
    rng = random.Random(f"{SEED} {name}")
    policy = PRESETS[name]
    cpus = [0] if name == "hsf-fp" else sorted(rng.sample(range(8), rng.randint(1, 3)))
    with daemon_in(tmp_path) as daemon:
        daemon.does(f"policy name={name} pcpus={','.join(map(str, cpus))} spare_budget_ns=1000000")
        made = 0
        for number in range(12):
            is_global = policy.scope is Scope.GLOBAL
            words = [f"server s{number}"]
            if is_global and rng.random() < 0.5:
                words.append(f"pcpus={rng.choice(cpus)}")
            elif not is_global:
                words.append(f"pcpu={rng.choice(cpus)}")
            words += rng.choice([
                ["best_effort=1"],
                ["best_effort=1", f"weight={rng.randrange(1, 9)}"],
                [f"period_ns={(period := rng.randrange(10, 100) * 10**6)}",
                 f"budget_ns={period // rng.randrange(2, 30)}", f"priority={rng.randrange(9)}",
                 f"extra={rng.randrange(2)}"],
            ])  # fmt: skip
            words.append(f"inside={rng.choice(['fp', 'edf', 'fifo', 'turns'])}")
            made += daemon.ask(" ".join([*words, f"force={rng.randrange(2)}"]))["ok"]
            if rng.random() < 0.2:
                daemon.ask(f"remove s{rng.randrange(number + 1)}")
        assert made >= 4, (SEED, name)
        daemon.does("start force=1")
        require_back(daemon, tmp_path)


NOT_EXPORTED = {
    "avionics-unfitted": "domain[1].pcpu",
    "csa-synthetic": "budgets of the servers on pcpu 0",
    "deferrable-edf-counterexample": "budgets of the servers on pcpu 0",
    "ertds-example3": "spare: period",
    "exsched-table2": "budgets of the servers on pcpu 1",
    "exsched-table2-unfitted": "domain[0].pcpu",
    "flight-control": "budgets of the servers on pcpu 0",
    "hot-swap": "swap",
    "late-packets-psedf": "domain driver: interface: budget",
    "late-packets-sedf": "domain driver: interface: budget",
    "late-packets-sedf-prime": "domain service-2: interface: budget",
    "linux-four-vcpus": "budgets of the servers on pcpu 3",
    "overload": "budgets of the servers on pcpu 0",
    "stability-control-one-pcpu-sedf": "budgets of the servers on pcpu 0",
    "stability-control-unfitted": "domain[1].pcpu",
}
"""Example systems that a Linux machine cannot have, and the key that says why."""


@pytest.mark.parametrize("path", sorted(SYSTEMS.glob("*.toml")), ids=lambda path: path.stem)
def test_what_is_exported_comes_back(tmp_path: Path, path: Path) -> None:
    """Each example system is performed as it is exported, and saved as what it was."""
    if path.stem in NOT_EXPORTED:
        with pytest.raises(InputError) as refused:
            export_linux(for_host(load_system(path), "linux").with_stolen)
        assert refused.value.key == NOT_EXPORTED[path.stem]
        return
    files = export_linux(for_host(load_system(path), "linux").with_stolen)
    asked = tmp_path / "asked"
    asked.write_text(str(files["requests"]))
    with daemon_in(tmp_path, "--requests", str(asked)) as daemon:
        assert not any("requests:" in line for line in daemon.log), daemon.log
        status = daemon.does("status")
        assert status["running"] is True
        servers = {one["name"]: one for one in status["servers"]}
        for vcpu in vcpus_of(load_system(path)):
            (member,) = servers.pop(vcpu.name)["members"]
            assert member["waits"] is True
        assert list(servers) == [DAEMON]
        lines = require_back(daemon, tmp_path)
    assert len(lines) == len(asked.read_text().splitlines()) - 1


# --- the file --------------------------------------------------------------------------------


def command(daemon: Daemon, *words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["linux", *words, "--socket", str(daemon.folder / "control")])
    assert done.exit_code == code, (done.output, done.exception)
    return done


SYSTEM = ("policy name=ds pcpus=0", "server a pcpu=0 period_ns=10000000 budget_ns=1000000")


def test_a_file_of_somebodys_own_is_kept(tmp_path: Path) -> None:
    """What this has written is replaced, until somebody makes it theirs."""
    path, kept = tmp_path / "requests", tmp_path / "requests.bak"
    path.write_text("# mine\n")
    path.chmod(0o640)
    with daemon_in(tmp_path) as daemon:
        daemon.does(*SYSTEM)
        assert f"saved: {path}" in command(daemon, "save", "--to", str(path)).stdout
        first = path.read_bytes()
        daemon.does("set a budget_ns=2000000")
        command(daemon, "save", "--to", str(path))
        assert b"budget_ns=1000000" in first
        assert b"budget_ns=2000000" in path.read_bytes()
        assert kept.read_text() == "# mine\n"
        path.write_text("# mine again\n")
        command(daemon, "save", "--to", str(path))
    assert kept.read_text() == "# mine again\n"
    assert sorted(one.name for one in tmp_path.glob("requests*")) == ["requests", "requests.bak"]


def test_changes_may_be_saved_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "requests"
    monkeypatch.setattr("hyperperiod.hosts.linux.save.REQUESTS", path)
    with daemon_in(tmp_path) as daemon:
        daemon.does(*SYSTEM, "start")
        command(daemon, "set", "a", "--budget", "2ms")
        assert not path.exists()
        for words, expected in (
            (["set", "a", "--budget", "3ms"], b"budget_ns=3000000"),
            (["attach", "a", "cgroup:s/*"], b"attach a cgroup=/sys/fs/cgroup/s/*\n"),
            (["swap", "cbs"], b"policy name=cbs+edf+none"),
        ):
            command(daemon, *words, "--save")
            assert expected in path.read_bytes()
        done = command(daemon, "attach", "a", f"thread:{os.getpid()}", "--save")
        assert "warning: members: found 1 processes and threads, which are left out" in done.stderr
        command(daemon, "detach", "a", "cgroup:s/*", "--save")
        assert b"attach" not in path.read_bytes()


def test_what_cannot_be_saved_is_said_and_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    path.write_text("# mine\n")
    with daemon_in(tmp_path) as daemon:
        done = command(daemon, "save", "--to", str(path), code=2)
        assert "requests: found no policy" in done.stderr
        daemon.does(*SYSTEM)
        nowhere = tmp_path / "no" / "requests"
        done = command(daemon, "save", "--to", str(nowhere), code=3)
        assert f"{nowhere} cannot be written (No such file or directory)" in done.stderr
        with Client(tmp_path / "control") as client, pytest.raises(MissingError, match="directory"):
            save(client, tmp_path)
    assert path.read_text() == "# mine\n"
    assert sorted(one.name for one in tmp_path.glob("*.new")) == []


def test_the_tool_writes_the_requests_as_well(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    with daemon_in(tmp_path) as daemon:
        daemon.does(*SYSTEM, "start")
        subprocess.run(
            [program("hyperperiodctl"), "--socket", tmp_path / "control", "requests",
             f"path={path}"], check=True, capture_output=True,
        )  # fmt: skip
        assert path.read_text().splitlines() == saved(daemon, tmp_path / "saved")
