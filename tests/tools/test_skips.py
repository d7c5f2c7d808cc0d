# SPDX-License-Identifier: BSD-2-Clause
"""With `--allowed-skips` a skip that the list does not name fails: of a test or of a module."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
LIST = TOP / ".ci" / "skips.toml"

TESTS = """\
import pytest

def test_runs():
    pass

def test_skips():
    pytest.skip("no such tool: 7")

@pytest.mark.skip(reason="no such tool: 8")
def test_marked():
    pass

@pytest.mark.xfail(strict=True)
def test_known_to_fail():
    assert False
"""
MODULE = 'import pytest\npytest.skip("not today", allow_module_level=True)\n'


def run(folder: Path, *skips: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    """Pytest in a folder of its own, with our conftest and a list of allowed skips."""
    (folder / "conftest.py").write_text((TOP / "tests" / "conftest.py").read_text())
    (folder / "test_one.py").write_text(TESTS)
    (folder / "test_module.py").write_text(MODULE)
    entries = (f"[[skip]]\ntests = '{tests}'\nreason = '{reason}'\n" for tests, reason in skips)
    (folder / "skips.toml").write_text("".join(entries) or "skip = []\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--continue-on-collection-errors", "--allowed-skips=skips.toml"]
    command += ["-c", "/dev/null", "--rootdir", str(folder), "--confcutdir", str(folder)]
    return subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True)


def test_a_skip_that_the_list_does_not_name_fails(tmp_path: Path) -> None:
    done = run(tmp_path, ("test_one.py::test_skips", "no such tool: *"))
    assert done.returncode != 0
    assert "skips.toml does not allow it: no such tool: 8" in done.stdout
    assert "skips.toml does not allow it: not today" in done.stdout
    assert "no such tool: 7" not in done.stdout


def test_another_reason_is_another_skip(tmp_path: Path) -> None:
    done = run(tmp_path, ("*", "no such tool: 7"), ("test_module.py", "not today"))
    assert done.returncode == 1
    assert "does not allow it: no such tool: 8" in done.stdout
    assert "not allow it: not today" not in done.stdout


def test_with_all_skips_named_nothing_fails(tmp_path: Path) -> None:
    done = run(tmp_path, ("test_one.py::*", "no such tool: *"), ("test_module.py", "not *"))
    assert done.returncode == 0, done.stdout
    assert "1 passed, 3 skipped, 1 xfailed" in done.stdout


@pytest.mark.parametrize("skip", tomllib.loads(LIST.read_text())["skip"], ids=lambda s: s["tests"])
def test_every_allowed_skip_says_why(skip: dict[str, str]) -> None:
    assert set(skip) == {"tests", "reason", "why"}
    assert len(skip["why"]) > 40
