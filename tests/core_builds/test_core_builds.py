# SPDX-License-Identifier: BSD-2-Clause
"""The very same core passes every compiler that its hosts use, with warnings as errors.

Each build translates `entries.c`, which names every entry of the core. A freestanding build must
also need nothing from outside: no libc, no compiler support function.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SOURCE = "tests/core_builds/entries.c"

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wswitch-enum", "-Wundef"]
FREESTANDING = ["-ffreestanding", "-nostdinc"]

# Name of a build: compiler and flags. The hypervisor flags are the ones Xen builds itself with.
BUILDS = {
    "gcc": ["gcc", "-std=c11", "-O2", "-Wpedantic"],
    "gcc-unoptimized": ["gcc", "-std=c11", "-O0"],
    "gcc-1024-vcpus": ["gcc", "-std=c11", "-O2", "-DHP_VCPUS=1024u"],
    "gcc-analyzer": ["gcc", "-std=c11", "-O1", "-fanalyzer"],
    "g++": ["g++", "-std=c++20", "-O2", "-x", "c++"],
    "clang": ["clang-19", "-std=c11", "-O2"],
    "bpf": ["clang-19", "-target", "bpf", "-mcpu=v3", "-std=gnu11", "-O2", "-g", *FREESTANDING,
            "-include", "hosts/linux/environment.bpf.h"],
    "x86-hypervisor": ["gcc", "-std=c11", "-O2", *FREESTANDING, "-mgeneral-regs-only",
                       "-mno-red-zone", "-fno-strict-aliasing"],
    "x86-hypervisor-unoptimized": ["gcc", "-std=c11", "-O0", *FREESTANDING,
                                   "-mgeneral-regs-only", "-mno-red-zone"],
    "arm64-hypervisor": ["aarch64-linux-gnu-gcc", "-std=c11", "-O2", *FREESTANDING,
                         "-mgeneral-regs-only", "-fno-strict-aliasing"],
}  # fmt: skip
SELF_CONTAINED = [name for name in BUILDS if "hypervisor" in name or name == "bpf"]


def translate(name: str, folder: Path) -> Path:
    """Builds `entries.c` as one of BUILDS does; its object file."""
    compiler, *flags = BUILDS[name]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    target = folder / "entries.o"
    command = [compiler, *flags, *WARNINGS, "-I.", "-c", SOURCE, "-o", str(target)]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return target


@pytest.mark.parametrize("name", BUILDS)
def test_builds_without_a_warning(name: str, tmp_path: Path) -> None:
    assert translate(name, tmp_path).stat().st_size > 0


@pytest.mark.parametrize("name", SELF_CONTAINED)
def test_needs_nothing_from_outside(name: str, tmp_path: Path) -> None:
    compiler = BUILDS[name][0]
    nm = "llvm-nm-19" if compiler == "clang-19" else compiler.replace("gcc", "nm")
    if not shutil.which(nm):
        pytest.skip(f"{nm} is not installed")
    target = translate(name, tmp_path)
    listing = subprocess.run([nm, "-u", str(target)], check=True, capture_output=True, text=True)
    assert listing.stdout.split() == []
