# SPDX-License-Identifier: BSD-2-Clause
"""A system for hyperperiodd: requests that it takes, and who belongs to which server.

The daemon is that of tests/linux/daemons.py, over a kernel that is a log. Every example system is
exported, performed and saved again in tests/linux/test_save.py.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.linux.daemons import daemon_in

from hyperperiod.analysis import analyze
from hyperperiod.cli import main
from hyperperiod.export import export_linux, write_folder
from hyperperiod.for_host import for_host
from hyperperiod.hosts.decisions import DECISION_NS
from hyperperiod.hosts.linux import live
from hyperperiod.model import InputError, System, load_system, parse_policy

TOP = Path(__file__).parents[2]
SYSTEMS = TOP / "systems"
SEED = int(os.environ.get("HYPERPERIOD_SEED", "20250101"))
MS = 1_000_000
TASK = {"name": "t", "period": 20 * MS, "wcet": 1 * MS}


def system(*domains: dict[str, Any], policy: str = "ds", **more: Any) -> System:
    listed = [one if one.get("best_effort") else {"task": [TASK]} | one for one in domains]
    return System.of({"name": "s", "policy": parse_policy(policy), "domain": listed, **more})


def server(budget: float, period: float) -> dict[str, int]:
    return {"period": int(period * MS), "budget": int(budget * MS)}


def lines(one: System, cpus: list[int] | None = None) -> list[str]:
    """The requests of an export, without the comment."""
    return str(export_linux(one, cpus)["requests"]).splitlines()[1:]


def command(*words: str, name: str = "run", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "busy", "command": list(words), **more}


def test_the_requests_are_those_of_start_with_a_slice_for_each_server() -> None:
    one = system(
        {"name": "flight-laws", "interface": server(2, 10), "pcpu": 0},
        {"name": "video", "interface": server(7.5, 20), "pcpus": [0, 1], "extra": True,
         "task": [TASK | {"vcpu": 1}]},
        {"name": "rest", "best_effort": True, "pcpu": 1},
        pcpus=2,
    )  # fmt: skip
    asked = lines(one, [5, 3])
    members = [line for line in asked if line.endswith("wait=1")]
    assert [line for line in asked if line not in members] == live.all_requests(
        one, [5, 3], [], force=False
    )
    slices = "attach {} cgroup=/hyperperiod.slice/{} wait=1".format
    assert members == [
        slices("flight-laws", "hyperperiod-flight.slice/hyperperiod-flight-laws.slice"),
        slices("video.0", "hyperperiod-video.0.slice"),
        slices("video.1", "hyperperiod-video.1.slice"),
        slices("rest", "hyperperiod-rest.slice"),
    ]
    assert asked[-1] == "start"
    readme = str(export_linux(one, [5, 3])["README.md"])
    assert "| `video.1` | 7.5ms in 20ms | 5 | `hyperperiod-video.1.slice` |" in readme
    assert "| `rest` | what is left | 5 | `hyperperiod-rest.slice` |" in readme


def test_a_drop_in_puts_a_service_into_the_slice_of_a_server() -> None:
    files = export_linux(system({"name": "web", "interface": server(2, 10)}))
    assert "\nSlice=hyperperiod-web.slice\n" in str(files["drop-ins/web.conf"])
    assert "cp drop-ins/web.conf /etc/systemd/system/NAME.service.d/" in str(files["README.md"])


def test_commands_are_services_in_the_slice_of_their_server(tmp_path: Path) -> None:
    words = ("-c", 'echo "$HOME" %n \\ it\'s\n\tdone')
    one = system(
        {"name": "a", "interface": server(2, 10), "task": [command("sh", *words, name="b-c")]},
        {"name": "a-b", "interface": server(2, 10), "task": [command("/bin/true", name="c")]},
        {"name": "web", "interface": server(2, 10)},
    )
    folder = tmp_path / "out"
    write_folder(folder, export_linux(one), {})
    units = sorted(folder.glob("units/*"))
    assert [unit.name for unit in units] == [
        "hyperperiod-a-b:c.service",
        "hyperperiod-a:b-c.service",
    ]
    assert [path.name for path in folder.glob("drop-ins/*")] == ["web.conf"]
    text = units[1].read_text()
    assert "\nSlice=hyperperiod-a.slice\n" in text
    assert 'ExecStart=:sh "-c" "echo \\"$HOME\\" %%n \\\\ it\'s\\x0a\\x09done"\n' in text
    readme = (folder / "README.md").read_text()
    assert f"systemctl enable --now {units[1].name} {units[0].name}\n" in readme


def test_systemd_has_nothing_to_say_about_the_services(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    write_folder(tmp_path / "out", export_linux(load_system(SYSTEMS / "two-commands.toml")), {})
    units = sorted((tmp_path / "out/units").iterdir())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if any(one.name in line for one in units)]
    assert said == []


def test_the_readme_says_what_is_not_guaranteed() -> None:
    plain = system({"name": "a", "interface": server(2, 10)})
    everywhere = system({"name": "a", "interface": server(2, 10)}, policy="rtds", pcpus=2)
    ran = [command("true")]
    only_commands = system({"name": "a", "interface": server(2, 10), "task": ran})
    packets = load_system(SYSTEMS / "packet-path.toml")
    for one, has in (
        (plain, {"SCHED_FIFO", "nice values"}),
        (everywhere, {"SCHED_FIFO", "nice values", "one cpu at a time"}),
        (only_commands, {"SCHED_FIFO"}),
        (packets, {"SCHED_FIFO", "nice values", "is up to your programs"}),
    ):
        text = str(export_linux(one)["README.md"])
        said = ("SCHED_FIFO", "nice values", "one cpu at a time", "is up to your programs")
        assert {word for word in said if word in text} == has


# --- what the machine would refuse -----------------------------------------------------------


CHANGE = {"at": 5 * MS, "domain": "a", "interface": server(1, 10)}
MANY = [{"name": f"d{number}", "interface": server(1, 100)} for number in range(64)]


@pytest.mark.parametrize(
    ("one", "cpus", "key"),
    [
        (
            system({"name": "a", "interface": server(2, 10)}, swap=[{"at": MS, "policy": "cbs"}]),
            None,
            "swap",
        ),
        (system({"name": "a", "interface": server(2, 10)}, change=[CHANGE]), None, "change"),
        (system({"name": "a b", "interface": server(2, 10)}), None, "domain[0].name"),
        (system({"name": "a--b", "interface": server(2, 10)}), None, "domain[0].name"),
        (system({"name": "a.", "interface": server(2, 10)}), None, "domain[0].name"),
        (system({"name": "hyperperiodd", "interface": server(2, 10)}), None, "domain[0].name"),
        (system({"name": "a" * 64, "interface": server(2, 10)}), None, "domain[0].name"),
        (system({"name": "-".join("a" * 32), "interface": server(2, 10)}), None, "domain[0].name"),
        (
            system({"name": "a", "interface": server(2, 10), "task": [command("x", name="x y")]}),
            None,
            "domain[0].task[0].name",
        ),
        (
            system({"name": "a", "interface": server(2, 10), "task": [command("./x")]}),
            None,
            "domain[0].task[0].command",
        ),
        (
            system({"name": "a", "interface": server(2, 10), "task": [command("x"), TASK]}),
            None,
            "domain a: task t: command",
        ),
        (
            system({"name": "a", "interface": server(2, 10), "vcpus": 2, "scheduler": "gedf"}),
            None,
            "domain a: scheduler",
        ),
        (system({"name": "a", "interface": server(2, 10)}), [64], "--cpus"),
        (system({"name": "a", "interface": server(2, 10)}), [1, 2], "--cpus"),
        (
            system({"name": "a", "interface": server(2, 10)}, policy="rtds", pcpus=2),
            [1, 1],
            "--cpus",
        ),
        (
            system({"name": "a", "interface": server(0.004, 10)}),
            None,
            "domain a: interface: budget",
        ),
        (
            system({"name": "a", "interface": server(9.6, 10)}),
            None,
            "budgets of the servers on pcpu 0",
        ),
        (
            system({"name": "a", "interface": server(40_000, 100_000)}),
            None,
            "budgets of the servers on pcpu 0",
        ),
        (system(*MANY), None, "vcpus on pcpu 0"),
    ],
)
def test_what_the_machine_would_refuse_is_refused(
    one: System, cpus: list[int] | None, key: str
) -> None:
    with pytest.raises(InputError) as caught:
        export_linux(one, cpus)
    assert caught.value.key == key


def test_the_time_of_a_decision_is_that_of_the_daemon() -> None:
    said = re.search(r"DECISION_NS (\d+)u", (TOP / "hosts/linux/daemon/system.c").read_text())
    assert said is not None
    assert int(said[1]) == DECISION_NS["Linux"]


def drawn(rng: random.Random) -> System:
    """A system near the limits of what leaves a machine time."""
    pcpus = rng.randint(1, 3)
    policy = rng.choice(["ds", "cbs", "rtds"])
    is_global = policy == "rtds"
    load = rng.choice([0.9, 0.94, 0.95, 0.96, 1.0]) * (pcpus if is_global else 1)
    count = rng.randint(1, 5) if not is_global else rng.randint(pcpus, 6)
    domains = []
    for number in range(count):
        period = rng.choice([15_000, 50_000, 7 * MS, 100 * MS, 4_000 * MS, 20_000 * MS])
        budget = max(1, min(period, int(period * load / count) + rng.randint(-1, 1)))
        home = {} if is_global else {"pcpu": 0}
        domains.append(
            {"name": f"d{number}", "interface": {"period": period, "budget": budget}, **home}
        )
    return system(*domains, policy=policy, pcpus=pcpus)


def test_what_is_exported_is_what_the_daemon_takes(tmp_path: Path) -> None:
    """Systems are drawn near the limits: those are refused here that the daemon would refuse."""
    rng = random.Random(SEED)
    found = {True: 0, False: 0}
    with daemon_in(tmp_path) as daemon:
        for number in range(150):
            one = drawn(rng)
            daemon.ask("stop")
            daemon.does("clear")
            asked = live.all_requests(one, range(one.pcpus), [], force=False)
            takes = all(daemon.ask(request)["ok"] for request in asked)
            try:
                assert [line for line in lines(one) if "wait=1" not in line] == asked
                exported = True
            except InputError:
                exported = False
            assert exported is takes, (SEED, number, asked)
            found[takes] += 1
    assert min(found.values()) > 20, found


# --- the command -----------------------------------------------------------------------------


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["export", "--to", "linux", *map(str, arguments)])


ROOMY = """
name = "roomy"
policy = "ptps"
[[domain]]
name = "control"
interface = { period = "10ms", budget = "5ms" }
[[domain.task]]
name = "loop"
period = "40ms"
wcet = "2ms"
"""


def test_what_the_readme_says_of_the_proof_is_what_analyze_says(tmp_path: Path) -> None:
    """The exported system has all that was counted, stolen time too."""
    told, folder = tmp_path / "roomy.toml", tmp_path / "out"
    told.write_text(ROOMY)
    done = export(told, "--cpus", "2", "--out", folder)
    assert (done.exit_code, done.stderr) == (0, "")
    ready = for_host(load_system(told), "linux")
    exported = load_system(folder / "system.toml")
    assert exported.stolen == ready.with_stolen.stolen != ()
    assert exported.overheads == ready.system.overheads
    assert analyze(exported).schedulable is ready.counted.schedulable is True
    assert ready.sentence in (folder / "README.md").read_text()
    assert " pcpus=2 " in (folder / "requests").read_text()


def test_a_proof_that_does_not_survive_is_exported_and_loud(tmp_path: Path) -> None:
    done = export(SYSTEMS / "two-commands.toml", "--out", tmp_path / "out")
    assert (done.exit_code, "does not survive the host" in done.stderr) == (1, True)
    assert "**Warning:**" in (tmp_path / "out/README.md").read_text()
    done = export(SYSTEMS / "two-commands.toml", "--out", tmp_path / "out", "--overheads", "none")
    assert done.exit_code == 0


def test_a_refusal_names_the_file_and_writes_nothing(tmp_path: Path) -> None:
    path = SYSTEMS / "csa-synthetic.toml"
    done = export(path, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert f"{path}: budgets of the servers on pcpu 0: found 288 % of the time; allowed: 95 %" in (
        done.stderr
    )
    assert list(tmp_path.iterdir()) == []
