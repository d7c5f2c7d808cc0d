# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on four pcpus: what each test accepts of ten random tasks.

Periods of 10 to 100 ms, log-uniform; utilizations by UUniFast, discarding sets with one above 1;
deadlines anywhere between execution time and period in half of the sets. What survives 40 runs of
the simulator's rule in coarse ticks is the upper bound: releases together, aligned, and at random.
"""

from __future__ import annotations

import random

import numpy as np
from bench.acceptance import Family
from bench.acceptance.taskset import task_set
from tests.soundness.global_world import World, play

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.baker import baker
from hyperperiod.analysis.multiprocessor.bcl import bcl
from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.multiprocessor.iterative_bcl import iterative_bcl

PCPUS, TASKS, RUNS, TICKS = 4, 10, 40, 400
