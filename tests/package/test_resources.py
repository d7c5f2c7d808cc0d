# SPDX-License-Identifier: BSD-2-Clause
"""Where the package looks for its files and builds to, in a checkout and installed."""

import importlib
from pathlib import Path

import pytest

from hyperperiod import resources

TOP = Path(__file__).parents[2]


def test_a_checkout_has_its_own_folders() -> None:
    assert resources.CHECKOUT == TOP
    assert resources.SYSTEMS == TOP / "systems"
    assert resources.EXPERIMENTS == TOP / "experiments"


def test_where_a_checkout_builds_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPERPERIOD_BUILD", raising=False)
    assert resources.build_folder() == TOP / "build"
    monkeypatch.setenv("HYPERPERIOD_BUILD", "elsewhere")
    assert resources.build_folder() == Path.cwd() / "elsewhere"


def test_where_an_installed_package_builds_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPERPERIOD_BUILD", raising=False)
    monkeypatch.setattr(resources, "CHECKOUT", None)
    monkeypatch.setenv("HOME", "/home-of-somebody")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    version = importlib.import_module("hyperperiod.version").VERSION
    assert resources.build_folder() == Path("/home-of-somebody/.cache/hyperperiod") / version
    monkeypatch.setenv("XDG_CACHE_HOME", "relative: to be ignored")
    assert resources.build_folder() == Path("/home-of-somebody/.cache/hyperperiod") / version
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert resources.build_folder() == Path("/cache/hyperperiod") / version
