# SPDX-License-Identifier: BSD-2-Clause
"""What all tests share.

Tests that take moments come before those that build, install or boot something, so that most
mistakes show in the first minute. Hypothesis draws the same examples on every machine and every
run. With `--allowed-skips FILE` a skip that the file does not name fails, so that a green run says
what it seems to say.
"""

from __future__ import annotations

import fnmatch
import gc
import signal
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from hyperperiod import resources

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

LATE = ("native", "core_builds", "docs", "package", "xen_build", "stack", "guests", "linux", "xen")
"""Folders of tests that build, install or boot something, in the order in which they come last."""
TESTS = Path(__file__).parent

CYCLES = 100_000
"""After so many new objects cycles are looked for: exhaustive tests make millions, in no cycle."""

OPTION = "--allowed-skips"
ALLOWED = pytest.StashKey[list[dict[str, str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", type=Path, help="fail on skips that FILE lacks")


def pytest_configure(config: pytest.Config) -> None:
    # A shell's background job ignores Ctrl-C, and so would every program that a test interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # What tests see of reports does not depend on whether somebody has made the playground.
    resources.PLAYGROUND = TESTS / "no-playground.html"
    file: Path | None = config.getoption(OPTION)
    if file is not None:
        config.stash[ALLOWED] = tomllib.loads(file.read_text())["skip"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick folders first, each in its own order; workers are given tests from the front."""
    items.sort(key=lambda item: _lateness(item.path))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Groups of tests that share a machine are told to the workers by the tests' names; where that
    does not work, each worker would boot the machine, and nothing would say so.

    What is there now stays to the end: the collector of cycles need not look at it again and again.
    """
    gc.freeze()
    gc.set_threshold(CYCLES, 20, 100)
    if getattr(session.config.option, "loadgroup", False):
        for item in session.items:
            assert "@" in item.nodeid or item.get_closest_marker("xdist_group") is None, item.nodeid


def _lateness(file: Path) -> int:
    """The place of a test's folder among the late ones, from 1; 0 for all that come before them."""
    folder = file.relative_to(TESTS).parts[0] if file.is_relative_to(TESTS) else ""
    return LATE.index(folder) + 1 if folder in LATE else 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that was skipped, and may not be, has failed."""
    report = yield
    _fail_if_not_allowed(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips all its tests before they are known is judged by its own name."""
    report = yield
    _fail_if_not_allowed(report, collector.config)
    return report


def _fail_if_not_allowed(
    report: pytest.TestReport | pytest.CollectReport, config: pytest.Config
) -> None:
    allowed = config.stash.get(ALLOWED, None)
    if allowed is None or not report.skipped or hasattr(report, "wasxfail"):
        return
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = said.removeprefix("Skipped: ")
    for skip in allowed:
        if fnmatch.fnmatch(report.nodeid, skip["tests"]) and fnmatch.fnmatch(
            reason, skip["reason"]
        ):
            return
    report.outcome = "failed"
    report.longrepr = f"skipped, and {config.getoption(OPTION)} does not allow it: {reason}"
