# SPDX-License-Identifier: BSD-2-Clause
"""A machine for hyperperiod-xen that is a text file (fake_machine.c), and the tool run on it.

The tool is built of its own sources, under sanitizers, with another hypervisor and xenstore below
it. What a sanitizer finds ends the tool with a code of its own, so no test passes over it.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import xen_images
from tests.support.building import make

TOP = Path(__file__).parents[2]
PROGRAMS = TOP / "build" / "control-fake"
FOUND_BY_SANITIZER = 99

OURS = 72
CREDIT2 = 6
BEST_EFFORT = 0x01000000
EXTRA = 0x02000000
GLOBAL_EDF = "1 1 4 1"
"""deferrable+edf+extra, global: rtds."""
PTPS = "0 0 0 0"


@functools.cache
def program(name: str = "hyperperiod-xen") -> Path:
    """A program of the makefile here; skips the test where it cannot be built."""
    xen_images.tools()  # has the headers of Xen's toolstack
    make("tests/control/Makefile")
    return PROGRAMS / name


@dataclass
class Machine:
    """A machine in a folder. Lines are those of fake_machine.c; changes go to the same file."""

    folder: Path
    pcpus: int = 4
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path.write_text(
            "".join(
                f"{line}\n"
                for line in (
                    f"pool 0 {CREDIT2} 0 0 0 0 0 0 0",
                    *(f"pcpu {number} 0" for number in range(self.pcpus)),
                    "domain 0 0 1 0 0 0 0",
                    "vcpu 0 0 0 0 0 0",
                    "store /local/domain/0/name Domain-0",
                    "version 4 20",
                    "about extra .0",
                    "about capabilities xen-3.0-x86_64 hvm-3.0-x86_64",
                    *self.lines,
                )
            )
        )

    @property
    def path(self) -> Path:
        return self.folder / "machine"

    @property
    def calls(self) -> list[str]:
        """The calls that changed something, since `forget`."""
        log = Path(f"{self.path}.log")
        return log.read_text().splitlines() if log.exists() else []

    def forget(self) -> None:
        Path(f"{self.path}.log").unlink(missing_ok=True)

    def add(self, *lines: str) -> None:
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def guest(self, number: int, name: str, vcpus: int = 1, pool: int = 0) -> None:
        """A domain; in a pool of ours its vcpus begin as best effort, all on pcpu 1."""
        self.add(*guest_lines(number, name, vcpus, pool))

    def file(self, text: str, name: str = "file") -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def run(
        self,
        *words: str | Path,
        events: str = "",
        store: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """The tool's command; `events` are what happens while it waits."""
        variables = {
            **os.environ,
            "FAKE_MACHINE": str(self.path),
            "ASAN_OPTIONS": f"exitcode={FOUND_BY_SANITIZER}:abort_on_error=0",
            "UBSAN_OPTIONS": f"exitcode={FOUND_BY_SANITIZER}:print_stacktrace=1",
            **({} if store else {"FAKE_NO_STORE": "1"}),
            **(environment or {}),
        }
        done = subprocess.run(
            [program(), *map(str, words)],
            input=events,
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode in (0, 1, 2, 3), done.stderr
        return done

    def does(self, *words: str | Path) -> str:
        """A command that must succeed; what it prints."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refuses(self, code: int, *words: str | Path) -> str:
        """A command that must end with this code; what it says. It changes nothing."""
        before = self.path.read_bytes()
        done = self.run(*words)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert self.path.read_bytes() == before
        return done.stderr


def guest_lines(number: int, name: str, vcpus: int = 1, pool: int = 0) -> list[str]:
    """The lines of a new domain."""
    order = BEST_EFFORT if pool else 0
    return [
        f"domain {number} {pool} {vcpus} 0 0 0 {order}",
        *(f"vcpu {number} {vcpu} {1 if pool else 0} 0 0 {order}" for vcpu in range(vcpus)),
        f"store /local/domain/{number}/name {name}",
    ]
