# SPDX-License-Identifier: BSD-2-Clause
"""The GitHub Action and the hooks of pre-commit: the page's examples, run as these two would.

Neither runs here. The action's steps are taken from its file and given to bash as a runner does;
the hooks' commands are put together as pre-commit does. Packages come from the tests' environment,
so that no network is needed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.package.installed import TOP, Installed, link_distribution, required, wheel

from hyperperiod.version import VERSION

PAGE = (TOP / "docs" / "howto" / "ci.md").read_text()
ACTION = yaml.safe_load((TOP / "action.yml").read_text())
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())}
HOLDS = """name = "guarded"
policy = "ptps"

[[domain]]
name = "vm"
interface = { period = "10ms", budget = "5ms" }

[[domain.task]]
name = "loop"
period = "40ms"
wcet = "10ms"
"""
# The server gives 20 ms in each period of the task.
MISSES = HOLDS.replace('wcet = "10ms"', 'wcet = "25ms"')


def example(title: str) -> Any:
    """The YAML of the page with this title."""
    found = re.search(rf'^```yaml title="{title}"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return yaml.safe_load(found[1])


def inputs_of_page() -> dict[str, str]:
    """What the page gives to the action."""
    (step,) = (step for step in example("workflow.yml") if "hyperperiod" in step["uses"])
    assert step["uses"] == f"hyperperiod/hyperperiod@v{VERSION}"
    return dict(step["with"])


class Runner:
    """A job of GitHub's: steps in a folder, one after the other, until one fails."""

    def __init__(self, folder: Path, built: Path) -> None:
        self.built = built
        self.temp = folder / "temp"
        self.here = folder / "repository"
        for one in (self.temp, self.here):
            one.mkdir()
        self.path_file = self.temp / "path"
        self.path_file.touch()

    def run(self, **given: str) -> list[subprocess.CompletedProcess[str]]:
        """The steps of the action that are run with these inputs; it is installed once."""
        assert given.keys() <= ACTION["inputs"].keys()
        inputs = {key: one.get("default", "") for key, one in ACTION["inputs"].items()} | given
        install, prove, compare = ACTION["runs"]["steps"]
        assert prove["if"] == "inputs.prove == 'true'"
        steps = [prove, compare] if inputs["prove"] == "true" else [compare]
        if not self.path_file.read_text():
            steps.insert(0, install)
        done: list[subprocess.CompletedProcess[str]] = []
        for step in steps:
            done.append(self.step(step, inputs))
            if done[-1].returncode != 0:
                break
        return done

    def step(
        self, step: Any, inputs: dict[str, str], action_path: Path = TOP
    ) -> subprocess.CompletedProcess[str]:
        """One step, as `shell: bash` runs it."""
        environment = dict(os.environ)
        environment["PATH"] = ":".join(
            [*reversed(self.path_file.read_text().split()), environment["PATH"]]
        )
        known = {f"inputs.{key}": value for key, value in inputs.items()}
        known["github.action_path"] = str(action_path)
        for name, text in step.get("env", {}).items():
            environment[name] = re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], text)
        environment |= {"RUNNER_TEMP": str(self.temp), "GITHUB_PATH": str(self.path_file)}
        environment |= {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "what a user gives is never a part of a script"
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=self.here, env=environment, capture_output=True, text=True
        )
        for site in self.temp.glob("hyperperiod/lib/python*/site-packages"):
            for name in required("hyperperiod"):
                link_distribution(name, site)
        return done


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("runner"), wheel(tmp_path_factory))


@pytest.mark.slow
def test_the_action_passes_what_holds_and_fails_what_does_not(runner: Runner) -> None:
    system = runner.here / "flight-control.toml"
    system.write_text(HOLDS)
    inputs = inputs_of_page() | {"horizon": "1s"}
    done = runner.run(**inputs, package=str(runner.built))
    assert [one.returncode for one in done] == [0, 0, 0], done[-1].stderr
    done = runner.run(**inputs | {"fail-on": "max>1us\n"})
    assert [one.returncode for one in done] == [0, 1]
    assert "max>1us: " in done[-1].stderr

    system.write_text(MISSES)
    assert [one.returncode for one in runner.run(**inputs)] == [1], "not proved"
    (missed,) = runner.run(**inputs | {"prove": "false"})
    assert missed.returncode == 1
    assert "dmr>0: " in missed.stderr

    kept = runner.temp / "now.json"  # of the run before: no worse than itself
    (runner.here / "kept.json").write_bytes(kept.read_bytes())
    limits = {"kept": "kept.json", "fail-on": "misses>+0\nmax>+0ns", "prove": "false"}
    (same,) = runner.run(**inputs | limits)
    assert same.returncode == 0, same.stderr


def test_the_action_installs_its_own_version(runner: Runner, tmp_path: Path) -> None:
    """Without a network there is what is installed already, and nothing else."""
    install = ACTION["runs"]["steps"][0]
    for package, code in ((str(runner.built), 0), ("", 0), ("hyperperiod==9.9.9", 1)):
        assert runner.step(install, {"package": package}).returncode == code, package
    (tmp_path / "src" / "hyperperiod").mkdir(parents=True)
    (tmp_path / "src" / "hyperperiod" / "version.py").write_text('VERSION = "9.9.8"\n')
    refused = runner.step(install, {"package": ""}, tmp_path)
    assert refused.returncode == 1
    assert "No matching distribution found for hyperperiod==9.9.8" in refused.stderr


def test_every_input_is_on_the_page() -> None:
    rows = re.findall(r"^\| `([\w-]+)`.* \|$", PAGE, re.MULTILINE)
    assert [row for row in rows if row in ACTION["inputs"]] == list(ACTION["inputs"])


# -- pre-commit -----------------------------------------------------------------------------------


def files_of(hook: dict[str, Any], names: Sequence[str]) -> list[str]:
    """The files for which pre-commit runs a hook, by their names: their type is their ending."""
    types = hook.get("types", []) or hook["types_or"]
    return [
        name
        for name in names
        if re.search(hook["files"], name) and name.rpartition(".")[2] in types
    ]


def run_hook(
    installed: Installed, folder: Path, asked: dict[str, Any]
) -> subprocess.CompletedProcess[str]:
    """Runs a hook on the files that it is for, as pre-commit does."""
    hook = HOOKS[asked["id"]] | asked
    assert hook["language"] == "python"
    files = files_of(hook, sorted(path.name for path in folder.iterdir()))
    assert files, "pre-commit would skip the hook"
    command = [*shlex.split(hook["entry"]), *hook.get("args", [])]
    command += files if hook.get("pass_filenames", True) else []
    environment = {"PATH": f"{installed.bin}:{os.environ['PATH']}", "HOME": str(installed.home)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_hooks_pass_what_holds_and_fail_what_does_not(
    installed: Installed, tmp_path: Path
) -> None:
    (config,) = example("pre-commit-config.yaml")["repos"]
    assert config["rev"] == f"v{VERSION}"
    assert [hook["id"] for hook in config["hooks"]] == list(HOOKS)
    system = tmp_path / "flight-control.toml"
    system.write_text(HOLDS)
    kept = installed.run("simulate", str(system), "--horizon", "1s", "--json")
    (tmp_path / "kept.json").write_text(kept.stdout)
    for text, code in ((HOLDS, 0), (MISSES, 1)):
        system.write_text(text)
        for hook in config["hooks"]:
            done = run_hook(installed, tmp_path, hook)
            assert done.returncode == code, (hook["id"], done.stdout, done.stderr)


def test_a_hook_is_run_where_any_file_that_it_reads_has_changed() -> None:
    (config,) = example("pre-commit-config.yaml")["repos"]
    proof, limits = (HOOKS[hook["id"]] | hook for hook in config["hooks"])
    names = ["flight-control.toml", "kept.json", "other.json", "readme.md"]
    assert files_of(proof, names) == names[:1]
    assert files_of(limits, names) == names[:2]


def test_a_hook_judges_every_file(installed: Installed, tmp_path: Path) -> None:
    for name, text in (("a.toml", MISSES), ("b.toml", HOLDS)):
        (tmp_path / name).write_text(text)
    asked = {"id": "hyperperiod-analyze", "files": r"\.toml$"}
    assert run_hook(installed, tmp_path, asked).returncode == 1
    (tmp_path / "a.toml").write_text(HOLDS)
    assert run_hook(installed, tmp_path, asked).returncode == 0


def test_the_local_hook_of_the_page_runs(installed: Installed, tmp_path: Path) -> None:
    (config,) = example("local-hooks.yaml")["repos"]
    (hook,) = config["hooks"]
    assert hook["additional_dependencies"] == ["hyperperiod"]
    (tmp_path / "flight-control.toml").write_text(HOLDS)
    command = [*shlex.split(hook["entry"]), "flight-control.toml"]
    environment = {"PATH": f"{installed.bin}:{os.environ['PATH']}"}
    assert subprocess.run(command, cwd=tmp_path, env=environment, check=False).returncode == 0
    assert re.search(hook["files"], "flight-control.toml")
