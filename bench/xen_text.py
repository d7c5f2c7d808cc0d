# SPDX-License-Identifier: BSD-2-Clause
"""Bytes of code that the scheduler adds to Xen, by what Kconfig leaves of its rules.

A rule that is left out is in none of the dispatches, so the compiler drops what only it needs. The
scheduler's files are compiled once more for each choice, by the command that built the hypervisor;
what counts are the sections that are executed, less those that Xen drops when it has booted.
"""

import re
import shlex
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from bench.environment import SkippedError
from bench.results import Row

from hyperperiod.hosts.xen.build.patches import (
    CHANGES,
    FOLDER,
    GLOBAL,
    condition_of,
    left_out_for,
    rule_options,
)
from hyperperiod.hosts.xen.images import current_hypervisor
from hyperperiod.model import MissingError

FLAVOURS = ("arm64", "x86_64")
OF_SLICES = ("slice", "slice-once", "fp-edf", "weights")
"""The rules that only SEDF and its kin need."""
ALONE = ("ptps", "wcps", "crps", "rtds", "cbs")
"""Policies that are looked at alone."""


def option_of(rule: str) -> str:
    """The end of the name of a rule's option."""
    return f"_{rule.upper().replace('-', '_')}"


def choices() -> dict[str, set[str]]:
    """What may be built in: a name, and the options that are left out."""
    options = set(rule_options())
    found: dict[str, set[str]] = {
        "all rules": set(),
        "without SEDF's": {
            one for one in options if one.endswith(tuple(map(option_of, OF_SLICES)))
        },
    }
    for name in ALONE:
        found[f"{name} alone"] = left_out_for(name)
    found["ptps alone, without changes"] = left_out_for("ptps") | {CHANGES}
    found["rtds alone, on each pcpu"] = left_out_for("rtds")
    found["rtds alone"] = left_out_for("rtds") - {GLOBAL}
    return found


def code_sizes(path: Path) -> dict[str, int]:
    """The sections of an object file that are executed, and their sizes in bytes."""
    listing = subprocess.run(
        ["readelf", "-SW", path], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(
        r"^ +\[ *\d+\] (\S+) +PROGBITS +\w+ \w+ (\w+) \w+ +AX ", listing, re.MULTILINE
    )
    return {name: int(size, 16) for name, size in found}


def stays(path: Path) -> int:
    """Bytes of code in an object file that are there after boot."""
    return sum(size for name, size in code_sizes(path).items() if not name.startswith(".init"))


def text_without(folder: Path, options: Collection[str]) -> int:
    """The scheduler's bytes of code, in this hypervisor's folder, without some options."""
    commands = sorted((folder / FOLDER.relative_to("xen")).glob(".*.o.cmd"))
    total = 0
    with tempfile.TemporaryDirectory() as made:
        undefined = Path(made) / "left_out.h"
        undefined.write_text("".join(f"#undef CONFIG_{one}\n" for one in sorted(options)))
        for recorded in commands:
            command = compile_command(recorded)
            if command is None or is_left_out(recorded, options):
                continue
            output = Path(made) / "part.o"
            subprocess.run(
                [*command, "-include", undefined, "-MF", f"{made}/part.d", "-o", output],
                cwd=folder,
                check=True,
            )
            total += stays(output)
    return total


def is_left_out(recorded: Path, options: Collection[str]) -> bool:
    """Whether Kbuild would not compile an object without these options."""
    condition = condition_of(recorded.name.removeprefix(".").replace(".o.cmd", ".c"))
    return any(condition == f"$(CONFIG_{option})" for option in options)


def compile_command(recorded: Path) -> list[str] | None:
    """The command that compiled an object of Xen, less its output; None if it was linked."""
    found = re.search(r"^cmd_\S+ := (\S*gcc .* -c \S+) -o ", recorded.read_text(), re.MULTILINE)
    return shlex.split(found[1]) if found else None


def measure() -> Iterator[Row]:
    """Bytes of code by architecture and choice."""
    for flavour in FLAVOURS:
        try:
            folder = current_hypervisor(flavour).parent
        except MissingError as error:
            raise SkippedError(str(error)) from None
        for name, left_out in choices().items():
            yield Row(f"xen text, {flavour}, {name}", text_without(folder, left_out), "bytes")
