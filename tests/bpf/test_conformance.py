# SPDX-License-Identifier: BSD-2-Clause
"""The BPF build of the core, accepted by the kernel's verifier, decides as gcc's build does.

Both live through the same random events (`scenario.h`), a million for each policy, and every
answer and every byte of state is compared (`conformance.c`). Skipped, with the reason, where
clang 19 or libbpf is missing or the machine does not let this process load BPF programs.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.building import TOP, make

from hyperperiod.model.policy import legal_policies

EVENTS = 1_000_000
SEED = int(os.environ.get("HYPERPERIOD_SEED", "20250101"))

PRESETS = {
    "ptps": "periodic+fp+none",
    "wcps": "periodic+fp+lend",
    "crps": "periodic+fp+reclaim",
    "ds": "deferrable+fp+none",
    "polling": "polling+fp+none",
    "sporadic": "sporadic+fp+none",
    "cbs": "cbs+edf+none",
    "sedf": "slice-once+edf+weights",
    "sedf-prime": "slice+edf+weights",
    "psedf": "slice+fp-edf+weights",
    "rtds": "deferrable+edf+extra+global",
    "ertds": "deferrable+edf+spare+global",
}


def legal_combinations() -> list[str]:
    """Every combination of rules that the core accepts, except the presets."""
    names = [policy.rules for policy in legal_policies()]
    return [name for name in names if name not in PRESETS.values()]


@pytest.fixture(scope="module")
def driver() -> Path:
    """The driver and the BPF object, built; the driver."""
    if not shutil.which("clang-19"):
        pytest.skip("clang-19 is not installed")
    if not Path("/usr/include/bpf/libbpf.h").exists():
        pytest.skip("libbpf-dev is not installed")
    make("tests/bpf/Makefile")
    return TOP / "build/bpf/conformance"


def compare(driver: Path, policies: list[str]) -> None:
    """Runs the driver over these policies; skips where the machine forbids BPF."""
    command = [str(driver), "build/bpf/conformance.bpf.o", str(EVENTS), str(SEED), *policies]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    print(done.stdout)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("identical") == len(policies)


def test_presets_decide_alike(driver: Path) -> None:
    compare(driver, list(PRESETS.values()))


@pytest.mark.slow
def test_every_legal_combination_decides_alike(driver: Path) -> None:
    compare(driver, legal_combinations())
