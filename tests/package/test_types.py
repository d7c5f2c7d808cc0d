# SPDX-License-Identifier: BSD-2-Clause
"""The wheel is typed: what a user's type checker accepts of it, and what it refuses."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module

import pytest
from tests.package.installed import TOP, Installed

RIGHT = """
from typing import assert_type

import hyperperiod as hp

task = hp.Task(name="t", period="40ms", wcet=4_000_000, kind="sporadic")
domain = hp.Domain(name="a", interface_period="10ms", tasks=[task, {"name": "u"}])
both = hp.Domain(name="b", interface=hp.Interface(period="10ms", budget="2ms"), tasks=(task,))
system = hp.System(name="two", policy="crps", quantum="1ms", domains=[domain, both])
same = hp.System(name="two", policy=hp.parse_policy("crps"), quantum_ns=10**6, domains=(domain,))
flow = hp.Flow(name="f", source=hp.Source(period="5ms"), hops=["a.t"], deadline="9ms")
late = hp.Swap(at="1s", policy="ptps"), hp.Change(at_ns=5, domain="a", pcpu=1)

assert_type(hp.load("a.toml", policy="ptps"), hp.System)
assert_type(hp.resolve(system), hp.System)
assert_type(hp.analyze(system), hp.AnalysisResult)
assert_type(hp.analyze(system).schedulable, bool | None)
assert_type(hp.simulate(system, "1s", seed=3), hp.RunResult)
assert_type(hp.simulate(system, "1s", seeds=range(3)), hp.ComparisonResult)
assert_type(hp.compare(system, "1s", ["ptps", system.policy], seeds=[1, 2]), hp.ComparisonResult)
assert_type(hp.fit(system, least="overhead", time_limit="2s").system, hp.System | None)
assert_type(hp.sweep({"name": "s"}, systems=3), hp.SweepResult)
assert_type(hp.simulate(system, "1s").tasks[0].misses, int)
assert_type(task.period_ns, int | None)
assert_type(hp.to_toml(system), str)
try:
    hp.load("b.toml")
except hp.InputError as error:
    print(error.file, error.line, error.key, error.found, error.allowed)
except hp.MissingError as missing:
    print(missing.install)
hp.analyze(system).plot()
print(hp.simulate(system, "1s").to_frame("pcpus"))
"""

# Each line is wrong, and what follows says how the type checker calls that.
WRONG = """
import hyperperiod as hp

hp.Task(name="t", perod="40ms")  # call-arg
hp.Task(period="40ms", wcet="4ms")  # call-arg
hp.Task(name="t", period=0.04)  # arg-type
hp.Interface(period="10ms")  # call-overload
hp.Domain(name="a", tasks=hp.Task(name="t"))  # arg-type
hp.System(name="s", policy="crps", domains=["a"])  # list-item
hp.simulate("a.toml", "1s")  # call-overload
hp.simulate(hp.load("a.toml"), "1s", seed=1, seeds=[1])  # call-overload
hp.analyze(hp.load("a.toml")).misses  # attr-defined
hp.simulate(hp.load("a.toml"), "1s").misses = 0  # misc
hp.fit(hp.load("a.toml"), solver="cp-sat")  # arg-type
hp.analyse(hp.load("a.toml"))  # attr-defined
"""


@pytest.fixture(scope="module")
def checked(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says, strictly, of both programs against the wheel alone."""
    here = tmp_path_factory.mktemp("typed")
    for name, text in (("right.py", RIGHT), ("wrong.py", WRONG)):
        (here / name).write_text(text)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--hide-error-context",
    ]
    options = ["--python-executable", str(installed.bin / "python"), "--cache-dir", "cache"]
    done = subprocess.run(
        [*command, *options, "right.py", "wrong.py"],
        cwd=here,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_a_right_program_passes(checked: str) -> None:
    assert [line for line in checked.splitlines() if line.startswith("right.py")] == []


def test_a_wrong_program_is_refused_line_by_line(checked: str) -> None:
    found = re.findall(r"^wrong\.py:(\d+): error: .*\[([\w-]+)\]$", checked, re.MULTILINE)
    asked = [
        (str(number), line.rpartition("# ")[2])
        for number, line in enumerate(WRONG.splitlines(), 1)
        if "# " in line
    ]
    assert found == asked


# -- native modules -------------------------------------------------------------------------------


def stubbed(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """What a stub says is in a module or class: its names, with what is in classes."""
    names: dict[str, list[ast.stmt]] = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = node.body
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = []
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = []
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = []
    return names


@pytest.mark.parametrize("name", ["_analysis", "_check", "_convert", "_rules", "_sim"])
def test_stubs_say_all_that_native_modules_have(name: str) -> None:
    module = import_module(f"hyperperiod.{name}")
    stub = stubbed(ast.parse((TOP / "src" / "hyperperiod" / f"{name}.pyi").read_text()).body)
    there = {one for one in vars(module) if not one.startswith("_")}
    assert there <= stub.keys()
    assert there, "a module without anything"
    for one in there:
        if isinstance(vars(module)[one], type):
            members = {key for key in vars(vars(module)[one]) if not key.startswith("_")}
            assert members == stubbed(stub[one]).keys() - {"__init__"}, one


def test_every_native_module_has_a_stub() -> None:
    package = TOP / "src" / "hyperperiod"
    sources = (TOP / "CMakeLists.txt").read_text()
    native = set(re.findall(r"^hyperperiod_module\((\w+) ", sources, re.MULTILINE))
    assert native == {path.stem for path in package.glob("_*.pyi")}
    assert (package / "py.typed").is_file()
