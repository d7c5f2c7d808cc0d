# SPDX-License-Identifier: BSD-2-Clause
"""How much a test refuses that would have worked: the accepted fraction, test beside test.

A family is a way to draw systems of a given load and the tests that compete on them. Beside them
stands what no sound test can exceed: the fraction in which no run that was tried misses a
deadline. That upper bound comes from simulation, so the truth lies between it and the best sound
test. Each family is a module of this folder with a constant `FAMILY`; `python -m bench.acceptance`
measures all of them and draws a picture each.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class Family(Generic[Drawn]):
    """`loads` are what the x axis shows (utilization, say), each handed to `draw`."""

    name: str
    title: str
    axis: str
    loads: tuple[float, ...]
    draw: Callable[[random.Random, float], Drawn]
    tests: Mapping[str, Callable[[Drawn], bool]]
    survives: Callable[[Drawn], bool]
