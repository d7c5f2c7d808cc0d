# SPDX-License-Identifier: BSD-2-Clause
"""The papers' figures, drawn again: each by its name, ours beside theirs."""

from hyperperiod.experiments.reproduce.catalogue import NAMES, load_experiment
from hyperperiod.experiments.reproduce.figure import Asked, Experiment, Figure

__all__ = ["NAMES", "Asked", "Experiment", "Figure", "load_experiment"]
