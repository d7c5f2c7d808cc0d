# SPDX-License-Identifier: BSD-2-Clause
"""`make rule-check` names what a rule lacks, and the how-to's rule passes it.

The patch is taken out of docs/howto/add-rule.md and applied to a copy of the checkout. There the
core's sources are checked, and the core is compiled and fuzzed with the rule; on demand (slow) the
whole package is built and judged, and Xen and the programs for Linux are built and run systems
under the rule.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.on_linux import need_linux
from tests.support.on_xen import need_xen

from tools import rule_check

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs/howto/add-rule.md"
# What a copy does without: what was built, and what is not looked at.
NEVER_COPIED = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
BUILT = {"build", "out", "dist"}


# What is run in the copy: three systems in which it shows that the rule is not deferrable.
ON_XEN = """\
from itertools import count, islice
from pathlib import Path

from tests.support.robust import HORIZON_NS, candidate, is_robust, sequence, simulated
from tests.xen.agreement import agree

from hyperperiod.model import System, with_policy
from hyperperiod.model.policy import PRESETS, parse_policy


def shown(system: System) -> list[tuple[str, str]]:
    return sequence(simulated(system, HORIZON_NS))


def test_systems_whose_servers_save(tmp_path: Path) -> None:
    drawn = (candidate("ds", number) for number in count())
    saving = (
        system
        for system in (with_policy(one, parse_policy("carry+fp")) for one in drawn)
        if shown(system) != shown(with_policy(system, PRESETS["ds"])) and is_robust(system)
    )
    for system in islice(saving, 3):
        agree(system, tmp_path)
"""

# The same on Linux, where events take more time: one machine runs all three.
ON_LINUX = """\
from itertools import count, islice
from pathlib import Path

from tests.support.on_linux import run_on_linux
from tests.linux.agreement import MOVED_NS, agree
from tests.support import robust
from tests.support.robust import HORIZON_NS, SEED, candidate, sequence, simulated

from hyperperiod.model import System, with_policy
from hyperperiod.model.policy import PRESETS, parse_policy


def shown(system: System) -> list[tuple[str, str]]:
    return sequence(simulated(system, HORIZON_NS))


def test_systems_whose_servers_save(tmp_path: Path) -> None:
    robust.BOUND_NS, robust.DRIFT_NS, robust.VERSIONS = MOVED_NS, 10 * MOVED_NS, 20
    drawn = (candidate("ds", number) for number in count())
    saving = (
        system
        for system in (with_policy(one, parse_policy("carry+fp")) for one in drawn)
        if shown(system) != shown(with_policy(system, PRESETS["ds"])) and robust.is_robust(system)
    )
    systems = list(islice(saving, 3))
    for system, done in zip(
        systems, run_on_linux(systems, HORIZON_NS, SEED, tmp_path), strict=True
    ):
        agree(system, done)
"""


def left_out(folder: str, names: list[str]) -> set[str]:
    """Which of the names in a folder are not copied."""
    return set(NEVER_COPIED(folder, names)) | (BUILT if Path(folder) == TOP else set())


def patch() -> str:
    """The patch of the how-to: its blocks, one after the other."""
    return "".join(re.findall(r"(?s)```diff\n(.*?)```\n", PAGE.read_text()))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with the how-to's rule."""
    top = tmp_path_factory.mktemp("rule") / "checkout"
    shutil.copytree(TOP, top, ignore=left_out, symlinks=True)
    subprocess.run(["git", "apply", "-"], cwd=top, input=patch(), check=True, text=True)
    return top


def test_every_rule_is_written_down_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    assert len(rule_check.rows()) >= 7
    assert [what for rule in rule_check.rows() for what in rule_check.missing(rule)] == []


def test_what_a_rule_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    lacks = list(rule_check.missing("carry"))
    places = ("core/rules.h", "tests/model_naive", "properties/servers.cpp", "docs/policies")
    for place in places:
        assert any(place in what for what in lacks), place


def test_the_page_says_how_many_files_a_rule_touches() -> None:
    touched = set(re.findall(r"(?m)^\+\+\+ b/(\S+)$", patch()))
    assert len(touched) == 8
    assert "it touches eight now" in " ".join(PAGE.read_text().split())


def test_the_rule_of_the_how_to_is_judged_well(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    assert list(rule_check.missing("carry")) == []
    for command in (
        [sys.executable, "tools/check_core.py"],
        ["g++", "-std=c++20", "-O1", "-I.", "-o", "fuzz_core", "tests/native/fuzz_core.cpp"],
        ["./fuzz_core", "1000000", "1", "budget=carry"],
        ["./fuzz_core", "1000000", "2"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_mistake_in_the_rule_is_found(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzer sees a rule that lets a server save without end."""
    monkeypatch.chdir(copy)
    rule = copy / "core/budget/carry.h"
    right = rule.read_text()
    wrong = right.replace("server->remaining_ns > hp_most_ns(core, server)", "0")
    assert wrong != right
    rule.write_text(wrong)
    command = ["g++", "-std=c++20", "-O1", "-I.", "-o", "wrong", "tests/native/fuzz_core.cpp"]
    subprocess.run(command, check=True)
    rule.write_text(right)
    done = subprocess.run(["./wrong", "1000000", "1", "budget=carry"], capture_output=True)
    assert done.returncode != 0


def ran(copy: Path, *command: str) -> str:
    """What a command says that is run in the copy, where it must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(copy: Path) -> Path:
    """The copy, with its own native modules."""
    ran(copy, "make", "build")
    return copy


@pytest.mark.slow
def test_the_whole_package_knows_the_rule(built: Path) -> None:
    """Everything judges the rule."""
    ran(built, "make", "rule-check", "RULE=carry")


@pytest.mark.slow
def test_xen_knows_the_rule(built: Path) -> None:
    """Robust systems whose servers save run on Xen as in the simulator, built in the copy."""
    need_xen()
    shutil.copytree(TOP / "build/downloads", built / "build/downloads", dirs_exist_ok=True)
    test = built / "tests/xen/test_carry.py"
    test.write_text(ON_XEN)
    assert "1 passed" in ran(built, ".venv/bin/python", "-m", "pytest", "-q", str(test))


@pytest.mark.slow
def test_linux_knows_the_rule(built: Path) -> None:
    """The same on Linux: not a line of the BPF programs is written for the rule."""
    assert "hosts/linux" not in patch()
    need_linux()
    shutil.copytree(TOP / "build/downloads", built / "build/downloads", dirs_exist_ok=True)
    test = built / "tests/linux/test_carry.py"
    test.write_text(ON_LINUX)
    assert "1 passed" in ran(built, ".venv/bin/python", "-m", "pytest", "-q", str(test))
