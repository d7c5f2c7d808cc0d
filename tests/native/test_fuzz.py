# SPDX-License-Identifier: BSD-2-Clause
"""Core, simulator and trace checks under the address and undefined-behaviour sanitizers.

The fuzzers are C++ programs with their own books (`fuzz_core.cpp`, `fuzz_simulation.cpp`,
`fuzz_check.cpp`). Their seed is fixed and printed; HYPERPERIOD_SEED sets another. One process of
the tests builds them and runs them all: others would only wait for what it builds.
"""

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.building import TOP, make

pytestmark = pytest.mark.xdist_group("native")

SEED = os.environ.get("HYPERPERIOD_SEED", "20250101")


@pytest.fixture(scope="module")
def fuzzers() -> Path:
    """The folder with the fuzzers, built."""
    make("tests/native/Makefile")
    return TOP / "build/native"


def run(fuzzer: Path, amount: int, seed: str) -> None:
    """Runs a fuzzer and expects it to find nothing."""
    done = subprocess.run([fuzzer, str(amount), seed], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_core_keeps_its_laws(fuzzers: Path) -> None:
    run(fuzzers / "fuzz_core", 10_000_000, SEED)


@pytest.mark.parametrize("rules", ["few", "one"])
def test_core_of_some_rules_keeps_its_laws(fuzzers: Path, rules: str) -> None:
    """Hosts may leave rules out (tests/native/few_rules.h): what is left works as ever."""
    run(fuzzers / f"fuzz_core_{rules}", 1_500_000, SEED)


def test_simulator_keeps_its_counts(fuzzers: Path) -> None:
    run(fuzzers / "fuzz_simulation", 400, SEED)


def test_trace_checks_take_anything(fuzzers: Path) -> None:
    run(fuzzers / "fuzz_check", 400, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_core_keeps_its_laws_for_long(fuzzers: Path, seed: str) -> None:
    run(fuzzers / "fuzz_core", 100_000_000, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_simulator_keeps_its_counts_for_long(fuzzers: Path, seed: str) -> None:
    run(fuzzers / "fuzz_simulation", 10_000, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_trace_checks_take_anything_for_long(fuzzers: Path, seed: str) -> None:
    run(fuzzers / "fuzz_check", 10_000, seed)
