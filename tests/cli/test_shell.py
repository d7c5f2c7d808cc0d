# SPDX-License-Identifier: BSD-2-Clause
"""Completion as shells ask for it, and the manual page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from hyperperiod.cli import main
from hyperperiod.hosts import HOSTS, STOCK
from hyperperiod.hosts.linux import members

TOP = Path(__file__).parents[2]
OVERLOAD = str(TOP / "systems" / "overload.toml")


def completed(*words: str) -> list[tuple[str, str]]:
    """What is offered for the last word: how the shell is to take it, and the word."""
    machine = ShellComplete(main, {}, "hyperperiod", "_HYPERPERIOD_COMPLETE")
    items = machine.get_completions(list(words[:-1]), words[-1])
    return [(item.type, item.value) for item in items]


def words(*begun: str) -> list[str]:
    return [value for _, value in completed(*begun)]


def test_commands_and_options() -> None:
    assert words("an") == ["analyze"]
    assert words("trace", "c") == ["check", "convert"]
    assert words("simulate", "x.toml", "--re") == ["--report"]
    assert words("run", "x.toml", "--on", "") == [*HOSTS, *STOCK]
    assert "trace" in words("")


@pytest.mark.parametrize(
    "before",
    [
        ["analyze"],
        ["simulate"],
        ["fit", "x.toml", "-o"],
        ["analyze", "x.toml", "--explain", "a", "--plot"],
        ["run", "x.toml", "--trace"],
        ["compare", "x.toml", "--report"],
        ["trace", "check"],
        ["trace", "convert", "x.hpt"],
        ["trace", "diff", "x.hpt"],
        ["doctor", "--write"],
        ["reproduce", "psedf-fig5", "--plot"],
    ],
)
def test_files_are_completed_by_the_shell(before: list[str]) -> None:
    assert completed(*before, "sys") == [("file", "sys")]


def test_a_folder_is_completed_by_the_shell() -> None:
    assert completed("export", "x.toml", "--out", "o") == [("dir", "o")]


def test_policies_and_hosts() -> None:
    assert words("simulate", "x.toml", "--policy", "pt") == ["ptps"]
    assert {"crps", "table"} <= set(words("simulate", "--policy", ""))
    assert words("compare", "x.toml", "--policies", "ptps,w") == ["ptps,wcps"]
    assert words("compare", "x.toml", "--policies", "ptps,pt") == []
    assert words("latency", "--policies", "ptps,crps,cr") == []
    assert words("compare", "x.toml", "--hosts", "sim,xen-c") == ["sim,xen-credit2"]
    assert words("compare", "x.toml", "--hosts", "linux-eevdf,linux-q") == [
        "linux-eevdf,linux-quota"
    ]


@pytest.mark.parametrize("more", [["--json"], []])
def test_names_of_the_system_at_hand(more: list[str]) -> None:
    assert words("analyze", OVERLOAD, *more, "--explain", "v") == ["video", "video.frame"]
    assert words("analyze", "none.toml", *more, "--explain", "v") == []
    assert words("analyze", *more, "--explain", "v") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_line_gives_a_script(shell: str) -> None:
    line = f"_HYPERPERIOD_COMPLETE={shell}_source hyperperiod"
    assert line in (TOP / "docs" / "shell.md").read_text()
    environment = {**os.environ, "_HYPERPERIOD_COMPLETE": f"{shell}_source"}
    script = subprocess.run(
        [Path(sys.executable).parent / "hyperperiod"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"_HYPERPERIOD_COMPLETE={shell}_complete" in script.stdout


def test_bash_takes_the_documented_line() -> None:
    line = 'eval "$(_HYPERPERIOD_COMPLETE=bash_source hyperperiod)"'
    assert line in (TOP / "docs" / "shell.md").read_text()
    ask = "COMP_WORDS=(hyperperiod trace c); COMP_CWORD=2; _hyperperiod_completion hyperperiod"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f'{line}; complete -p hyperperiod; {ask}; echo "${{COMPREPLY[@]}}"'],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "_hyperperiod_completion hyperperiod" in done.stdout
    assert done.stdout.endswith("check convert\n")


def every_command(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    ctx = click.Context(command)
    for name in command.list_commands(ctx):
        below = command.get_command(ctx, name)
        assert below is not None
        yield from every_command(below, f"{path} {name}")


@pytest.fixture(scope="module")
def manual() -> str:
    return CliRunner().invoke(main, ["man"], prog_name="hyperperiod", catch_exceptions=False).stdout


def test_the_manual_has_every_command_and_option(manual: str) -> None:
    _, *sections = re.split(r"^\.SS ", manual, flags=re.MULTILINE)
    texts = {section.partition("\n")[0].replace("\\-", "-"): section for section in sections}
    expected = dict(every_command(main, "hyperperiod"))
    assert list(texts) == list(expected)
    for path, command in expected.items():
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.opts[-1].replace("-", "\\-") in texts[path], (path, param.opts)


def test_the_manual_is_made_of_known_requests(manual: str) -> None:
    requests = {line.split()[0] for line in manual.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}
    assert "\b" not in manual
    assert not re.search(r"(?<!\\)-", manual.replace("\\-", ""))
    assert "130  interrupted; what was written is valid\n" in manual


def test_names_of_examples() -> None:
    assert words("examples", "hot") == ["hot-swap"]


def test_containers_and_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "system.slice/nginx.service",
        "system.slice/docker-0a1b2c.scope/inner",
        "user.slice",
    ):
        (tmp_path / name).mkdir(parents=True)
    here = members.KernelFiles(proc=tmp_path, cgroups=tmp_path)
    monkeypatch.setattr(members, "KernelFiles", lambda: here)
    assert words("linux", "attach", "web", "con") == ["container:"]
    assert words("linux", "attach", "web", "container:") == ["container:0a1b2c", "container:nginx"]
    assert words("linux", "detach", "web", "container:n") == ["container:nginx"]
    # bash makes words of its own at a colon.
    assert words("linux", "attach", "web", "container", ":") == ["0a1b2c", "nginx"]
    assert words("linux", "attach", "web", "container", ":", "n") == ["nginx"]
    assert words("linux", "attach", "web", "pid:") == []
