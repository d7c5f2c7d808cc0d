# SPDX-License-Identifier: BSD-2-Clause
"""The wheel, built once for all tests of a run, in an environment that has nothing else.

The environment is made in a temporary folder far from the checkout; commands run there with the
checkout's variables gone. Dependencies are those that a user gets who asks for no extra: they
come from the environment of the tests, by name, so that no network is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.support.building import once

TOP = Path(__file__).parents[2]
BUILD = "import scikit_build_core.build as b, sys; b.build_wheel(sys.argv[1])"
FOREIGN = ("HYPERPERIOD_", "PYTHON", "VIRTUAL_ENV", "XDG_", "XEN_SRC")


def wheel(factory: pytest.TempPathFactory) -> Path:
    """The wheel of the checkout as it is: built by the first process of a test run that asks.

    The folder of objects is that of `make build`: what is compiled is not compiled again.
    """

    def build(folder: Path) -> None:
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", BUILD, str(folder)], cwd=TOP, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    (built,) = once(factory, "wheel", build).glob("*.whl")
    return built


class Installed:
    """The package in an environment of its own; `run` calls it from another empty folder."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.bin = folder / "environment" / "bin"
        self.site = _make_environment(folder / "environment", wheel)
        self.here = folder / "empty"
        self.here.mkdir()
        self.home = folder / "home"
        self.home.mkdir()

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """`hyperperiod ARGUMENTS`, as in a shell of somebody who only has the wheel."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        return subprocess.run(
            [self.bin / "hyperperiod", *arguments],
            cwd=self.here,
            env=kept | {"HOME": str(self.home)} | environment,
            capture_output=True,
            text=True,
        )


def _make_environment(environment: Path, wheel: Path) -> Path:
    """Installs the wheel as pip does, into a new environment; the folder of its packages."""
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    for name in required("hyperperiod"):
        link_distribution(name, site)
    return site


def required(name: str) -> set[str]:
    """What a distribution needs, directly or not, without any extra."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for text in distribution(waiting.pop()).requires or []:
            one = Requirement(text)
            if one.name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
                found.add(one.name)
                waiting.append(one.name)
    return found


def link_distribution(name: str, site: Path) -> None:
    """Puts an installed distribution into another environment, by links to its files."""
    files = distribution(name).files
    assert files, f"{name} does not say what its files are"
    for top in {file.parts[0] for file in files if file.parts[0] != ".."}:
        if top not in {"__pycache__", "bin"} and not (site / top).exists():
            (site / top).symlink_to(str(distribution(name).locate_file(top)))
