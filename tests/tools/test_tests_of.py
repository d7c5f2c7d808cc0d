# SPDX-License-Identifier: BSD-2-Clause
"""The index from rules and commands to tests: nothing is without any, and the obvious is found."""

from pathlib import Path

import pytest
from tools.tests_of import RULES, about, main

from hyperperiod.commands import COMMANDS


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_attacked_and_named(rule: str) -> None:
    for kind, files in about(rule):
        assert files, f"{rule}: no test {kind}"
        assert all(path.is_file() for path in files)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_run(command: str) -> None:
    assert [files for _, files in about(command) if files], f"no test runs {command}"


def test_what_everybody_expects_is_found() -> None:
    found = dict(about("deferrable"))
    assert Path("tests/soundness/test_servers.py") in found["attacks what is proved of it"]
    assert Path("tests/core/test_exhaustive.py") in found["takes every legal combination"]
    assert Path("tests/trace/test_trace_compare.py") in dict(about("trace"))["runs it"]


def test_what_there_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tests_of", "nothing"])
    assert main() == 2
    assert "nothing is no rule, policy or command" in capsys.readouterr().err
