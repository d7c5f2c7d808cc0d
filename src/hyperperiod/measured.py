# SPDX-License-Identifier: BSD-2-Clause
"""Numbers that were measured: all of them stand in one file, `measured.toml`.

Code that counts with such a number reads it from there, and pages name the number behind which
they print it (`docs/measured.py` puts it in, a test compares). A section of the file is what one
measurement found: the command that made it, the machine and the programs it was made on, and its
numbers with their units. `hyperperiod doctor --measure SECTION --keep` measures a section anew and
writes it; all others stay as they are.

Numbers of instructions are exact and depend on compilers only; times and rates are kept to three
digits.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypedDict

from hyperperiod.model.result_object import ResultObject
from hyperperiod.resources import CHECKOUT

FILE: Final = Path(__file__).with_name("measured.toml")
XEN: Final = "xen"
LINUX_GUESTS: Final = ("linux", "linux-rt")
"""What the kernel of a Linux guest takes for itself, on Xen; named after the guest."""
LINUX_KERNEL: Final = "linux_kernel"
"""What the kernel takes for itself on the Linux host."""
HOSTS: Final = (XEN, *LINUX_GUESTS, LINUX_KERNEL)
"""Sections that need no checkout."""
BENCHMARKS: Final = (
    "start",
    "pick",
    "worst",
    "simulators",
    "traces",
    "interfaces",
    "many",
    "analysis",
    "fit",
    "sweep",
    "convert",
    "long_trace",
    "long_text",
    "xen_scheduler",
    "xen_text",
    "xen_slop",
    "dom0",
    "linux_host",
    "linux_programs",
    "linux_kernels",
)
"""Sections that a benchmark of the same name measures; only a checkout has these."""
EXIT_SKIPPED: Final = 3
"""What `python -m bench` ends with where the machine lacks something."""
EXACT: Final = ("instructions", "instructions/s", "decisions/s", "ns", "bytes")
"""Units whose numbers are kept to the last digit."""


class Number(NamedTuple):
    """A measured number and its unit, such as ns, CPU ms or instructions."""

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:,}"


class Section(NamedTuple):
    """One measurement: the command, the machine, and its numbers by name."""

    how: str
    on: str
    numbers: Mapping[str, Number]


def read(path: Path = FILE) -> dict[str, Section]:
    """Returns the sections of a file of measurements by name."""
    import tomllib

    document = tomllib.loads(path.read_text())
    return {
        name: Section(
            found["how"],
            found["on"],
            {key: Number(**number) for key, number in found["numbers"].items()},
        )
        for name, found in document.items()
    }


def number(section: str, name: str) -> float:
    """The value of one number of `measured.toml`. KeyError where there is none of that name."""
    return read()[section].numbers[name].value


def text_of(sections: Mapping[str, Section]) -> str:
    """Returns the text of a file of measurements with these sections."""
    lines = [
        "# SPDX-License-Identifier: BSD-2-Clause",
        "# Numbers that were measured; hyperperiod.measured says what for. A section is written by",
        "# the command `how`, never by hand.",
    ]
    for name, section in sections.items():
        lines += ["", f"[{name}]", f"how = {_quoted(section.how)}", f"on = {_quoted(section.on)}"]
        lines += ["", f"[{name}.numbers]"]
        lines += [
            f"{_quoted(key)} = {{ value = {one.value!r}, unit = {_quoted(one.unit)} }}"
            for key, one in section.numbers.items()
        ]
    return "\n".join(lines) + "\n"


def keep(name: str, section: Section, path: Path = FILE) -> None:
    """Replaces one section of a file, or adds it. MissingError outside of a checkout."""
    if CHECKOUT is None:
        raise _only_a_checkout("a file of measured numbers to change")
    path.write_text(text_of({**read(path), name: section}))


def command(name: str) -> str:
    """The command that measures a section and keeps it."""
    return f"hyperperiod doctor --measure {name} --keep"


def machine() -> str:
    """This machine's processor and cores, and the programs on it that numbers depend on."""
    words = [
        f"{processor()}, {os.cpu_count()} cores",
        f"Python {platform.python_version()}",
        version("gcc"),
        version("valgrind"),
        version("clang-19"),
        version("qemu-system-aarch64"),
        version("qemu-system-x86_64"),
    ]
    return ", ".join(word for word in words if word)


def version(program: str) -> str:
    """A program with its version, as it says that itself; empty where it is not installed."""
    path = shutil.which(program)
    if path is None:
        return ""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"\d+\.\d+\.\d+", done.stdout)
    return f"{program} {found[0]}" if found else program


def processor() -> str:
    """The name of this machine's processor, as the kernel gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def rounded(value: float, unit: str) -> Number:
    """A number as it is kept: to three digits, or as a whole one where its unit is exact."""
    if unit in EXACT:
        return Number(round(value), unit)
    digits = float(f"{value:.3g}")
    return Number(int(digits) if digits.is_integer() else digits, unit)


def benchmark(name: str) -> Section:
    """Runs a benchmark of the checkout and returns its numbers.

    MissingError outside of a checkout, and where the machine lacks something; FailedError where the
    benchmark does.
    """
    from hyperperiod.model.errors import FailedError, MissingError

    if CHECKOUT is None:
        raise _only_a_checkout(f"the benchmark {name}")
    done = subprocess.run(
        [sys.executable, "-m", "bench", name],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == EXIT_SKIPPED:
        raise MissingError(done.stderr.strip())
    if done.returncode != 0:
        raise FailedError(f"the benchmark {name}", done.stderr)
    rows: list[_BenchmarkRow] = json.loads((CHECKOUT / "bench" / "results.json").read_text())[
        "rows"
    ]
    return Section(command(name), machine(), dict(_numbers(rows)))


def _only_a_checkout(what: str) -> Exception:
    from hyperperiod.model.errors import MissingError

    source = "git clone https://github.com/hyperperiod/hyperperiod"
    return MissingError(f"{what}: only a checkout has that", source)


class _BenchmarkRow(TypedDict):
    name: str
    value: float
    unit: str
    rate: bool
    peer_name: str | None
    peer: float | None
    ratio: float


def _numbers(rows: list[_BenchmarkRow]) -> Mapping[str, Number]:
    """The numbers of a benchmark's rows, with those of a peer that ran beside."""
    found: dict[str, Number] = {}
    for row in rows:
        found[row["name"]] = rounded(row["value"], row["unit"])
        if row["peer"] is not None and not row["rate"]:
            found[f"{row['name']}, {row['peer_name']}"] = rounded(row["peer"], row["unit"])
            found[f"{row['name']}, ratio"] = rounded(row["ratio"], "times")
    return found


class NumberResult(ResultObject):
    """A number and its unit, as `doctor --measure --json` prints it."""

    value: float
    unit: str


class SectionResult(ResultObject):
    """What one measurement found, as `doctor --measure --json` prints it."""

    how: str
    on: str
    numbers: Mapping[str, NumberResult]


def section_result(section: Section) -> SectionResult:
    """Returns a section of measurements as the object that --json prints."""
    numbers = {
        name: NumberResult(value=one.value, unit=one.unit) for name, one in section.numbers.items()
    }
    return SectionResult(how=section.how, on=section.on, numbers=numbers)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
