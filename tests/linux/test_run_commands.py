# SPDX-License-Identifier: BSD-2-Clause
"""Commands that a run on Linux starts: found, begun in their servers, ended, and told of.

All that runs is one system on one machine; the rest looks at what is found and refused before.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.on_linux import need_linux
from tests.support.printed import checked
from tests.support.promises import require_properties

from hyperperiod.cli import main
from hyperperiod.hosts.linux import commands
from hyperperiod.hosts.linux.commands import Program, find
from hyperperiod.model import InputError, System, load_system, to_toml

MS = 10**6
HORIZON_NS = 1_000 * MS
TICK_NS, LATE_NS = 4 * MS, MS // 10
SYSTEM = """\
name = "commands"
policy = "cbs"
[[domain]]
name = "control"
interface = {{ period = "10ms", budget = "3ms" }}
[[domain.task]]
name = "t"
period = "20ms"
wcet = "2ms"
[[domain]]
name = "greedy"
interface = {{ period = "10ms", budget = "2ms" }}
[[domain.task]]
name = "meter"
kind = "busy"
command = ["sh", "-c", '''
    read -r where </proc/self/cgroup
    echo $where
    while :; do read -r ran rest </proc/self/schedstat; echo $ran; done
''']
[[domain]]
name = "stubborn"
interface = {{ period = "20ms", budget = "3ms" }}
[[domain.task]]
name = "loop"
kind = "busy"
command = ["sh", "-c", "trap '' TERM; (while :; do :; done) & while :; do :; done"]
[[domain]]
name = "errands"
scheduler = "fifo"
interface = {{ period = "10ms", budget = "2ms" }}
[[domain.task]]
name = "both"
kind = "busy"
command = ["sh", "-c", "echo out; echo err >&2; exit 3"]
[[domain.task]]
name = "applet"
kind = "busy"
command = ["ash", "-c", "exit 4"]
[[domain.task]]
name = "script"
kind = "busy"
command = ["{script}", "for each in 1 2; do 'x'"]
[[domain.task]]
name = "killed"
kind = "busy"
command = ["sh", "-c", "kill -9 $$"]
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder and the result of a run."""
    need_linux()
    folder = tmp_path_factory.mktemp("commands")
    script = folder / "own script"
    script.write_text('#!/bin/sh\necho "$1"\nsleep 0.2\nexit 5\n')
    script.chmod(0o755)
    (folder / "system.toml").write_text(SYSTEM.format(script=script))
    before = Path.cwd()
    os.chdir(folder)
    try:
        words = ("run", "system.toml", "--on", "linux", "--in", "vm", "--horizon", "1s", "--json")
        run = CliRunner().invoke(main, [*words, "--report", "run.html"])
    finally:
        os.chdir(before)
    assert run.exit_code == 0, run.stderr
    return folder, checked(run.stdout)


def command_of(result: dict[str, Any], name: str) -> dict[str, Any]:
    domain, task = name.split(".")
    tasks = next(one["tasks"] for one in result["domains"] if one["name"] == domain)
    command: dict[str, Any] = next(one["command"] for one in tasks if one["name"] == task)
    return command


@pytest.mark.parametrize(
    ("name", "budget_ns", "period_ns"),
    [("greedy.meter", 2 * MS, 10 * MS), ("stubborn.loop", 3 * MS, 20 * MS)],
)
def test_a_command_has_its_budget(
    done: tuple[Path, dict[str, Any]], name: str, budget_ns: int, period_ns: int
) -> None:
    """Neither more nor less, with all that it starts; it is ended with the run."""
    result = done[1]
    command = command_of(result, name)
    supply_ns = next(
        one["supply_ns"] for one in result["domains"] if one["name"] == name.split(".")[0]
    )
    # It begins within the first period, and may be in the last one already.
    whole = HORIZON_NS // period_ns
    assert (whole - 1) * budget_ns <= supply_ns <= whole * budget_ns + 20_000
    assert command["ran_ns"] == supply_ns
    assert (command["ended_ns"], command["exit_code"]) == (None, None)


@pytest.mark.parametrize(
    ("name", "code", "printed"),
    [
        ("errands.both", 3, "out\nerr\n"),
        ("errands.applet", 4, ""),
        ("errands.script", 5, "for each in 1 2; do 'x'\n"),
        ("errands.killed", 128 + 9, ""),
    ],
)
def test_a_command_that_ends_is_no_error(
    done: tuple[Path, dict[str, Any]], name: str, code: int, printed: str
) -> None:
    folder, result = done
    command = command_of(result, name)
    assert command["exit_code"] == code
    assert 0 < command["ended_ns"] < HORIZON_NS
    assert 0 < command["ran_ns"] < command["ended_ns"]
    assert (folder / "out/commands-linux/commands" / f"{name}.log").read_text() == printed
    if name == "errands.script":
        assert command["ended_ns"] > 200 * MS


def test_commands_on_a_vcpu_share_what_it_had(done: tuple[Path, dict[str, Any]]) -> None:
    errands = done[1]["domains"][3]
    ran_ns = [one["command"]["ran_ns"] for one in errands["tasks"]]
    assert errands["supply_ns"] - len(ran_ns) < sum(ran_ns) <= errands["supply_ns"]


def test_a_command_begins_inside_its_server(done: tuple[Path, dict[str, Any]]) -> None:
    """The kernel counts from there on what the server is said to have had."""
    folder, result = done
    printed = (folder / "out/commands-linux/commands/greedy.meter.log").read_text()
    where, *counted_ns = printed.splitlines()
    assert where == "0::/commands/1"
    # The kernel counts at switches and ticks. Two grants without a switch between them are as long
    # as a tick, which comes when interrupts are let in.
    ran_ns = command_of(result, "greedy.meter")["ran_ns"]
    assert 0 <= ran_ns - int(counted_ns[-1]) <= TICK_NS + LATE_NS


def test_nobody_suffers_from_commands(done: tuple[Path, dict[str, Any]]) -> None:
    folder, result = done
    control = result["domains"][0]["tasks"][0]
    assert (control["jobs"], control["misses"]) == (50, 0)
    assert "command" not in control
    require_properties(folder / "out/commands-linux/run.hpt")


def test_a_page_tells_of_commands(done: tuple[Path, dict[str, Any]]) -> None:
    page = (done[0] / "run.html").read_text()
    assert "<h2>Commands</h2>" in page
    assert "errands · both" in page
    assert "exit code 3" in page


def test_people_are_told_what_commands_had(done: tuple[Path, dict[str, Any]]) -> None:
    from hyperperiod.cli.tables.run import run_tables
    from hyperperiod.hosts.result import RunResult

    tables = {table.title: table for table in run_tables(RunResult.of(done[1]))}
    rows = {row[1]: row for row in tables["commands"].rows}
    assert rows["meter"][-1] == "with the run"
    assert str(rows["both"][-1]).endswith("exit code 3")
    assert [row[1] for row in tables["responses"].rows] == ["t"]


# --- what is found -------------------------------------------------------------------------------


def system_of(*command: str) -> System:
    task = {"name": "t", "kind": "busy", "command": list(command)}
    domain = {"name": "d", "interface": {"period": "10ms", "budget": "1ms"}, "task": [task]}
    return System.of({"name": "s", "policy": "ptps", "domain": [domain]})


def tool(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def busybox(tmp_path: Path) -> Path:
    """A program that, asked for its list of programs as busybox is, says that it has one."""
    return tool(tmp_path, "busybox", "#!/bin/sh\necho only-there\n")


def test_a_program_comes_with_its_libraries(busybox: Path) -> None:
    (program,) = find(system_of("sh"), busybox).values()
    shell = Path(program.path)
    assert shell in program.files
    assert any(path.name.startswith("libc.") for path in program.files)
    files = commands.files_of([{"sh": program}])
    assert files[f"host{shell}"] == shell.read_bytes()
    names = list(files)
    for name in names:
        parent = str(Path(name).parent)
        assert parent == "." or names.index(parent) < names.index(name)


def test_a_script_comes_with_its_interpreter(tmp_path: Path, busybox: Path) -> None:
    plain = tool(tmp_path, "plain", "#!/bin/sh\n")
    by_env = tool(tmp_path, "by-env", "#!/usr/bin/env sh\n")
    (of_plain,) = find(system_of(str(plain)), busybox).values()
    assert {plain, Path("/bin/sh")} <= of_plain.files
    (of_env,) = find(system_of(str(by_env)), busybox).values()
    assert Path("/usr/bin/env") in of_env.files
    assert any(path.name == "sh" for path in of_env.files)


def test_a_program_may_be_busyboxs(busybox: Path) -> None:
    assert find(system_of("only-there"), busybox) == {"only-there": Program("/bin/only-there")}


def test_here_nothing_but_the_program_is_looked_for() -> None:
    (program,) = find(system_of("sh"), None).values()
    assert Path(program.path).is_absolute()
    assert program.files == frozenset()
    with pytest.raises(InputError, match="a program of this machine, found by PATH"):
        find(system_of("no-such-program"), None)


def test_what_a_machine_in_qemu_cannot_have(
    tmp_path: Path, busybox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"\x7fELF" + bytes(14) + b"\xb7\x00" + bytes(60))
    other.chmod(0o755)
    lost = tool(tmp_path, "lost", "#!/no/such/shell\n")
    for name, said in (
        ("no-such-program", "found 'no-such-program'; allowed: a program of this machine, found"),
        (str(other), f"found {other}; allowed: a program for x86_64"),
        (str(lost), f"found {lost}, a script of '/no/such/shell'; allowed: one of a program here"),
    ):
        with pytest.raises(InputError) as refused:
            find(system_of(name), busybox)
        assert f"domain d: task t: command: {said}" in str(refused.value)
    with pytest.raises(InputError, match="a program for aarch64, as the machine in QEMU is"):
        find(system_of("sh"), busybox, "aarch64")
    folder = tmp_path / "tools"
    folder.mkdir()
    tool(folder, "ldd", '#!/bin/sh\nprintf "\\tlibfar.so.1 => not found\\n"\n')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    with pytest.raises(InputError, match=r"without its library libfar\.so\.1"):
        find(system_of("sh"), busybox)


# --- what is refused -----------------------------------------------------------------------------

HEAD = """\
name = "s"
policy = "ptps"
[[domain]]
name = "d"
{domain}
interface = {{ period = "10ms", budget = "3ms" }}
[[domain.task]]
name = "t"
{task}
"""
COMMAND = 'kind = "busy"\ncommand = ["true"]'
ANOTHER = f'{COMMAND}\n[[domain.task]]\nname = "u"\n'


@pytest.mark.parametrize(
    ("domain", "task", "said"),
    [
        ("", 'command = ["true"]', 'kind: found "periodic" of a command; allowed: "busy"'),
        ("", 'kind = "busy"\ncommand = []', "command: found an empty list; allowed: at least 1"),
        ("", 'kind = "busy"\ncommand = "true"', "command: found 'true'; allowed: a list"),
        ("", 'kind = "busy"\ncommand = ["true", 1]', "command[1]: found 1; allowed: a text"),
        ("", 'kind = "busy"\ncommand = [""]', "command[0]: found ''; allowed: a program"),
        (
            "",
            'kind = "busy"\ncommand = ["a", "b\\u0000c"]',
            "command[1]: found 'b\\x00c'; allowed: a text without the character U+0000",
        ),
        ("", f'{COMMAND}\nwcet = "1ms"', "wcet: found 1ms of a command"),
        ("", f'{COMMAND}\noffset = "1ms"', "offset: found 1ms of a command"),
        (
            "",
            f'{ANOTHER}kind = "busy"',
            "domain d: task u: command: found none, beside commands; allowed: a command of its own",
        ),
        (
            'scheduler = "fp"',
            f"{ANOTHER}{COMMAND}\npriority = 1".replace(COMMAND, f"{COMMAND}\npriority = 2", 1),
            'domain d: scheduler: found "fp" with several commands on a vcpu; allowed: "fifo"',
        ),
        (
            "",
            f'kind = "busy"\ncommand = ["true", "{"x" * commands.BYTES_LIMIT}"]',
            "domain d: task t: command: found 2 words; allowed: at most 4000 words with 100000",
        ),
    ],
)
def test_what_no_command_can_be(domain: str, task: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(HEAD.format(domain=domain, task=task))
    done = CliRunner().invoke(main, ["run", str(file), "--on", "linux", "--in", "vm"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_program_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    need_linux()
    file = tmp_path / "system.toml"
    file.write_text(HEAD.format(domain="", task=COMMAND.replace("true", "no-such-program")))
    done = CliRunner().invoke(main, ["run", str(file), "--on", "linux", "--in", "vm"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "domain d: task t: command: found 'no-such-program'" in done.stderr


# --- elsewhere -----------------------------------------------------------------------------------


def test_elsewhere_a_command_is_endless_work(tmp_path: Path) -> None:
    """The same file goes to the simulator and the analysis, and is written as it was read."""
    system = load_system("systems/two-commands.toml")
    assert system.domains[1].tasks[0].command == ("md5sum", "/dev/zero")
    file = tmp_path / "again.toml"
    file.write_text(to_toml(system))
    assert load_system(file) == system
    words = ("simulate", "systems/two-commands.toml", "--horizon", "200ms", "--json")
    done = CliRunner().invoke(main, words)
    assert [one["supply_ns"] // MS for one in json.loads(done.stdout)["domains"]] == [30, 60, 30]
