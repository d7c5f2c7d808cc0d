# SPDX-License-Identifier: BSD-2-Clause
"""How much stack the programs of a BPF object take, read from its instructions.

The kernel allows 512 bytes for a program with all functions that are called at one time, and eight
of these. Each takes what it reaches below its frame pointer, rounded up to 16 bytes.
"""

import functools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.environment import program

ROUNDED = 16
SECTION = re.compile(r"Disassembly of section (.*):")
FUNCTION = re.compile(r"([0-9a-f]+) <(?!LBB)([^>]+)>:")
BELOW = re.compile(r"r10 - (0x[0-9a-f]+|\d+)")
POINTER = re.compile(r"r\d+ \+= -(0x[0-9a-f]+|\d+)$")
CALL = re.compile(r"(\d+):\tcall (-?0x[0-9a-f]+|-?\d+)$")
SYMBOL = re.compile(r"R_BPF_64_32\s+(\S+)")


class Depth(NamedTuple):
    """What a program takes at most, with all that it calls."""

    stack_bytes: int
    frames: int


def depths(path: Path) -> dict[str, Depth]:
    """The depth of each function of the object, by name; SkippedError without LLVM's tools."""
    objdump = program("llvm-objdump-19", "llvm-19")
    command = [objdump, "-dr", "--no-show-raw-insn", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    own: dict[str, int] = {}
    places: dict[tuple[str, int], str] = {}
    calls: list[tuple[str, str | tuple[str, int]]] = []
    section = name = ""
    lines = [line.strip() for line in text.splitlines()]
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if match := SECTION.match(line):
            section = match[1]
        elif match := FUNCTION.match(line):
            name = match[2]
            own[name] = 0
            places[section, int(match[1], 16)] = name
        elif match := CALL.match(line):
            if (symbol := SYMBOL.search(after)) and symbol[1].startswith("."):
                # A static function of another section: the call says where it is there.
                calls.append((name, (symbol[1], 8 * (int(match[2], 0) + 1))))
            elif symbol:
                calls.append((name, symbol[1]))
            else:
                calls.append((name, (section, 8 * (int(match[1]) + 1 + int(match[2], 0)))))
        elif match := POINTER.search(line) if before.endswith("= r10") else BELOW.search(line):
            own[name] = max(own[name], int(match[1], 0))
    called: dict[str, set[str]] = {name: set() for name in own}
    for caller, to in calls:
        target = to if isinstance(to, str) else places.get(to, "")
        if target in own:
            called[caller].add(target)
    depth = _deepest(own, called)
    return {name: depth(name) for name in own}


def _deepest(own: dict[str, int], called: dict[str, set[str]]) -> Callable[[str], Depth]:
    @functools.cache
    def depth(name: str) -> Depth:
        below = [depth(one) for one in called[name]]
        taken = -(-own[name] // ROUNDED) * ROUNDED
        stack = taken + max((one.stack_bytes for one in below), default=0)
        return Depth(stack, 1 + max((one.frames for one in below), default=0))

    return depth
