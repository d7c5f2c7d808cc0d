# SPDX-License-Identifier: BSD-2-Clause
"""What benchmarks need from the machine: programs, and other tools in environments of their own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
BUILD = TOP / "build" / "bench"


class SkippedError(Exception):
    """A benchmark cannot run here; the message says why, and what would change that."""


def program(name: str, package: str) -> str:
    """The path of a program, or SkippedError."""
    path = shutil.which(name)
    if path is None:
        raise SkippedError(f"{name} is not installed (apt-get install {package})")
    return path


def compile_core_bench(name: str) -> Path:
    """The program of bench/NAME.c, made at a stroke, as tests may ask for it side by side."""
    BUILD.mkdir(parents=True, exist_ok=True)
    made = BUILD / f"{name}.{os.getpid()}"
    subprocess.run(
        ["gcc", "-std=c11", "-O2", "-I.", "-o", str(made), f"bench/{name}.c"], cwd=TOP, check=True
    )
    return made.replace(BUILD / name)


def counted(name: str, *arguments: str, inside: str = "") -> list[int]:
    """Instructions that callgrind counts in a run of bench/NAME.c, all or inside of a function: by
    process, in the order in which they end."""
    options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"]
    if inside:
        options.append(f"--toggle-collect={inside}")
    command = [program("valgrind", "valgrind"), *options, str(BUILD / name), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    collected = re.findall(r"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return [int(each) for each in collected]


def python_311() -> str:
    """A Python 3.11, the newest one that SimSo runs on, or SkippedError."""
    if sys.version_info[:2] == (3, 11):
        return sys.executable
    return program("python3.11", "python3.11-venv")


def environment_with(requirement: str) -> Path:
    """The interpreter of an environment under build/ that holds one other tool."""
    folder = BUILD / requirement.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([python_311(), "-m", "venv", "--clear", str(folder)], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", requirement])
        if done.returncode != 0:
            raise SkippedError(f"pip cannot install {requirement}")
        (folder / "complete").touch()
    return python
